"""The search index of the site: a script that assigns the data of assets/search.js, so that pages need no server.

    {"lists": [[name, …], …], "domains": [[name, newest], …], "families": [name, …], "operators": […], "pages": […]}
    operator: [name, domain, family, href, summary, synonyms, calls, text, [version, …]], versions oldest first
    version: [since, flags, types, attributes, inputs, outputs]
    page: [title, href, kind, text]

Domains and families are positions, and so are the last four of a version, in `lists`: many versions share one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from opset.catalog import first_sentence
from opset.docgen.markup import sections
from opset.docgen.paths import Paths
from opset.errors import safe_text
from opset.opsets.registry import Registry
from opset.schemas.documentation import Docs
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name

DEPRECATED, FUNCTION = 1, 2
"""Flags of a version."""
LONGEST, SUMMARY = 50_000, 240
"""Characters of an entry's text and of its summary: a registry may hold any text."""

# Words and calls that people search for and that the operator's own text lacks, or has among many others.
SYNONYMS = {
    "Attention": "scaled dot product multi head self sdpa mha gqa transformer",
    "AveragePool": "mean pooling avgpool downsampling",
    "BatchNormalization": "batchnorm bn",
    "Cast": "convert dtype astype precision",
    "Clip": "clamp relu6 hardtanh limit",
    "Compress": "boolean mask torch.masked_select",
    "Concat": "concatenate join stack tensors",
    "Constant": "literal weight",
    "ConstantOfShape": "zeros ones full fill",
    "Conv": "convolution depthwise grouped pointwise conv1d conv2d conv3d",
    "ConvTranspose": "deconvolution transposed convolution upconvolution",
    "CumSum": "cumulative running total prefix",
    "DFT": "fft fourier",
    "DepthToSpace": "pixel shuffle",
    "DequantizeLinear": "dequantization",
    "Dropout": "regularisation",
    "Einsum": "einstein summation contraction",
    "Erf": "error function",
    "Expand": "broadcast",
    "EyeLike": "identity matrix",
    "GRU": "gated recurrent unit",
    "Gather": "embedding lookup index select torch.nn.Embedding tf.nn.embedding_lookup",
    "GatherElements": "take along axis",
    "GatherND": "advanced indexing",
    "Gemm": "linear dense fully connected layer torch.nn.Linear tf.keras.layers.Dense",
    "GlobalAveragePool": "adaptive pooling",
    "GroupNormalization": "groupnorm",
    "Hardmax": "one hot argmax",
    "Identity": "copy noop",
    "If": "conditional branch",
    "InstanceNormalization": "instancenorm",
    "LRN": "local response normalization",
    "LSTM": "long short term memory recurrent",
    "LayerNormalization": "layernorm",
    "Loop": "while for iteration",
    "LpNormalization": "l2 normalize unit length",
    "MatMul": "matrix multiplication product batched torch.bmm numpy.dot",
    "MaxPool": "maximum pooling downsampling",
    "Mod": "modulo remainder fmod",
    "NegativeLogLikelihoodLoss": "nll",
    "NonMaxSuppression": "nms detection boxes",
    "NonZero": "nonzero indices argwhere",
    "PRelu": "parametric",
    "Pad": "padding reflect edge",
    "Pow": "power exponent square",
    "QuantizeLinear": "quantization int8 scale zero point",
    "RMSNormalization": "rmsnorm root mean square",
    "RNN": "elman recurrent neural network",
    "RandomNormal": "gaussian noise randn",
    "RandomNormalLike": "gaussian noise randn",
    "RandomUniform": "rand",
    "Range": "arange linspace sequence of numbers",
    "Reciprocal": "inverse",
    "ReduceL2": "euclidean norm frobenius",
    "ReduceMean": "mean average",
    "ReduceSum": "sum over axis total",
    "Reshape": "view flatten",
    "Resize": "interpolate upsample upsampling downsample scale image nearest bilinear bicubic",
    "RotaryEmbedding": "rope position encoding",
    "STFT": "short time spectrogram",
    "ScatterElements": "put along axis",
    "Shape": "size of dimensions",
    "Sigmoid": "logistic expit",
    "Size": "number of elements count numel",
    "Slice": "crop subarray strided",
    "SoftmaxCrossEntropyLoss": "crossentropy",
    "SpaceToDepth": "pixel unshuffle",
    "Split": "chunk divide parts",
    "Squeeze": "remove dimensions",
    "Swish": "silu",
    "Tile": "repeat",
    "TopK": "largest smallest sort argsort beam search",
    "Transpose": "permute permutation swap axes channels last first nhwc nchw layout",
    "TreeEnsemble": "random forest gradient boosting xgboost lightgbm",
    "TreeEnsembleClassifier": "random forest gradient boosting xgboost lightgbm",
    "TreeEnsembleRegressor": "random forest gradient boosting xgboost lightgbm",
    "Trilu": "triangular triangle causal mask tril triu",
    "Unsqueeze": "add dimensions expand dims newaxis",
    "Upsample": "upsampling nearest",
    "Where": "select ternary condition",
}


class SearchPage(NamedTuple):
    """A page of the site that is not an operator's: its title, its address from the site's root, kind, and text.

    The text is Markdown for the kinds "guide", "error" and "api". Each section of a guide has a search entry.
    """

    title: str
    href: str
    kind: str
    text: str


def index_script(registry: Registry, domains: Iterable[str], pages: Iterable[SearchPage]) -> str:
    """Return a script in ASCII that assigns the search index to `window.OPSET_INDEX`.

    The index has the operators of `domains`, and `pages`. It has no "<", ">" or "&", so that no tag can be in it.
    """
    lists: dict[tuple[str, ...], int] = {}
    families: dict[str, int] = {}
    paths = Paths(registry, domains)
    operators = [
        [safe_text(name), number, *_operator_entry(registry, registry.versions(name, domain), paths, lists, families)]
        for number, domain in enumerate(paths.domains)
        for name in registry.operators(domain)
    ]
    index = {
        "domains": [[safe_text(domain_name(domain)), registry.domains[domain]] for domain in paths.domains],
        "families": [*map(safe_text, families)],
        "lists": [[*map(safe_text, each)] for each in lists],
        "operators": operators,
        "pages": [
            [safe_text(title), href, kind, _plain_text(text)]
            for page in pages
            for title, href, kind, text in _indexed_pages(page)
        ],
    }
    text = json.dumps(index, separators=(",", ":"), ensure_ascii=True)
    # A script element, or whoever sees the file as HTML, finds no tag in it.
    for character in "<>&\x7f":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f"window.OPSET_INDEX={text};\n"


def _indexed_pages(page: SearchPage) -> Iterable[SearchPage]:
    """Yield the search entries of a page, with plain text: one for each section of a guide, one for any other page."""
    if page.kind in ("error", "api"):
        yield page._replace(text="\n".join(words for _, _, words in sections(page.text)))
    elif page.kind == "guide":
        for heading, anchor, words in sections(page.text):
            title, href = (f"{page.title}: {heading}", f"{page.href}#{anchor}") if anchor else (page.title, page.href)
            yield SearchPage(title, href, page.kind, words)
    else:
        yield page


def _operator_entry(
    registry: Registry,
    versions: tuple[OpSchema, ...],
    paths: Paths,
    lists: dict[tuple[str, ...], int],
    families: dict[str, int],
) -> list[Any]:
    """Return the search entry of an operator, without its name and domain.

    The entry is a list of seven items:

    - the family, as its number in `families`;
    - the path of the operator's page;
    - the first sentence of its documentation;
    - synonyms: other words for it, and the operator that replaces it;
    - calls: functions of other libraries, such as "torch.softmax";
    - all texts of its documentation;
    - the entry of each version, as `_version_entry` returns it.

    Args:
        registry: The registry.
        versions: All versions of the operator, oldest first.
        paths: The paths of the site.
        lists: Numbers of lists of names, for the entries of versions; new lists are added.
        families: Numbers of families; a new family is added.
    """
    newest = versions[-1]
    docs = registry.documentation(newest)
    synonyms = SYNONYMS.get(newest.name, "") if registry.is_standard(newest.name, newest.domain) else ""
    # The first function in each counterpart: `torch.softmax` of `torch.softmax(x, dim)`.
    found = [re.match(r"[^`]*`(\w[\w.]*\.\w+)\(", counterpart) for counterpart in docs.counterparts.values()]
    calls = [match[1] for match in found if match]
    return [
        families.setdefault(newest.family, len(families)),
        paths.operator(newest.name, newest.domain),
        safe_text(first_sentence(docs.doc), SUMMARY),
        _plain_text(f"{synonyms} {newest.replacement}"),
        _plain_text(" ".join([*calls, *(word for word in synonyms.split() if "." in word)])),
        _plain_text("\n".join(_prose_of(docs))),
        [_version_entry(schema, lists) for schema in versions],
    ]


def _version_entry(schema: OpSchema, lists: dict[tuple[str, ...], int]) -> list[int]:
    """Return the search entry of a version: [version, flags, element types, attributes, inputs, outputs].

    The flags have a bit for a deprecated version, and one for function bodies. The last four entries are lists of
    names, each written as a number: `lists` numbers all different lists, such as {("X", "Y"): 0}. A list that it lacks
    is added to it.
    """
    columns = (
        tuple(sorted(element_words(schema))),
        tuple(schema.attributes),
        tuple(parameter.name for parameter in schema.inputs),
        tuple(parameter.name for parameter in schema.outputs),
    )
    flags = DEPRECATED * schema.deprecated | FUNCTION * bool(schema.function)
    return [schema.since_version, flags, *(lists.setdefault(each, len(lists)) for each in columns)]


def element_words(schema: OpSchema) -> set[str]:
    """Return the words in the types of a schema's inputs and outputs: {"float", "seq", "map", "sparse"}.

    "tensor" is left out, and "sparse_tensor" is "sparse".
    """
    types = {type_ for parameter in (*schema.inputs, *schema.outputs) for type_ in schema.allowed_types(parameter)}
    words = {word for type_ in types for word in re.findall(r"\w+", type_)}
    return {"sparse" if word == "sparse_tensor" else word for word in words - {"tensor"}}


def _prose_of(docs: Docs) -> Iterable[str]:
    """Yield all texts of an operator's documentation: description, special cases, notes on runtimes, parameters.

    Counterparts in other libraries are among these.
    """
    yield docs.doc
    yield from (case.text for case in docs.special_cases)
    yield from (note.text for note in docs.implementations)
    yield from docs.counterparts.values()
    for phrases in (docs.inputs, docs.outputs, docs.attributes):
        yield from (f"{name}: {phrase}." for name, phrase in phrases.items())


def _plain_text(text: str) -> str:
    """Return text without backticks and empty lines, with runs of spaces as one, and unprintable characters escaped.

    Only its first LONGEST characters are read.
    """
    lines = (" ".join(line.split()) for line in text[:LONGEST].replace("`", "").split("\n"))
    return "\n".join(safe_text(line, LONGEST) for line in lines if line)
