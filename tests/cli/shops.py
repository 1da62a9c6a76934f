"""What processes need to convert models, for tests of executors."""

from functools import partial

from opset.budget import Limits
from opset.cli.batch import VerbCall, start_work
from opset.cli.configuration import folders_for
from opset.cli.convert import VERB, ConvertSettings, convert_file
from opset.cli.inputs import Output
from opset.cli.records import View
from opset.cli.working import Workshop
from opset.version_converter import target_of


def make_shop(**limits):
    """Return what converts models to opset 12, and writes them into a folder."""
    known = folders_for(())
    settings = ConvertSettings(target_of({"": 12}, registry=known.registry()), {}, (), False, None)
    call = VerbCall(known, Limits(), (), 1, False, "text", output=Output(folder="out"))
    start = partial(start_work, convert_file, settings, call)
    return Workshop(start, View(line=True), VERB.undone, VERB.late, VERB.words, limits.get("timeout"), None)
