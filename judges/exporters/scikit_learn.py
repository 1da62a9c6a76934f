"""Estimators of scikit-learn, fitted to drawn data, by skl2onnx."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType
from sklearn import (
    cluster,
    compose,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_extraction,
    feature_selection,
    gaussian_process,
    impute,
    linear_model,
    mixture,
    multiclass,
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    random_projection,
    svm,
    tree,
)

from judges.exporters.drafts import Draft, Exported, generator, some_versions

VERSIONS = (12, 15, 18, 21)
KINDS = {"float32": FloatTensorType, "float64": DoubleTensorType, "int64": Int64TensorType, "object": StringTensorType}


class Plan(NamedTuple):
    """An estimator that is not fitted, the kind of data that it learns from, and options of the export."""

    name: str
    estimator: Any
    data: str
    options: dict[str, Any] = {}


PLAIN = {"zipmap": False}


def classifiers(seed: int) -> Iterator[Plan]:
    """Yield classifiers."""
    each: dict[str, Any] = {
        "logistic": linear_model.LogisticRegression(),
        "perceptron": linear_model.Perceptron(random_state=seed),
        "ridge_classifier": linear_model.RidgeClassifier(),
        "sgd": linear_model.SGDClassifier(loss="log_loss", random_state=seed),
        "lda": discriminant_analysis.LinearDiscriminantAnalysis(),
        "qda": discriminant_analysis.QuadraticDiscriminantAnalysis(),
        "tree": tree.DecisionTreeClassifier(max_depth=4, random_state=seed),
        "extra_tree": tree.ExtraTreeClassifier(max_depth=4, random_state=seed),
        "forest": ensemble.RandomForestClassifier(7, max_depth=4, random_state=seed),
        "extra_trees": ensemble.ExtraTreesClassifier(7, max_depth=4, random_state=seed),
        "gradient_boosting": ensemble.GradientBoostingClassifier(n_estimators=5, random_state=seed),
        "hist_boosting": ensemble.HistGradientBoostingClassifier(max_iter=5, random_state=seed),
        "ada_boost": ensemble.AdaBoostClassifier(n_estimators=4, random_state=seed),
        "bagging": ensemble.BaggingClassifier(n_estimators=3, random_state=seed),
        "voting": ensemble.VotingClassifier(
            [("a", linear_model.LogisticRegression()), ("b", naive_bayes.GaussianNB())], flatten_transform=False
        ),
        "stacking": ensemble.StackingClassifier([("a", linear_model.LogisticRegression())], cv=2),
        "svc": svm.SVC(probability=True, random_state=seed),
        "svc_poly": svm.SVC(kernel="poly", random_state=seed),
        "nu_svc": svm.NuSVC(nu=0.2, random_state=seed),
        "linear_svc": svm.LinearSVC(random_state=seed),
        "knn": neighbors.KNeighborsClassifier(3),
        "radius_neighbors": neighbors.RadiusNeighborsClassifier(5.0),
        "gaussian_nb": naive_bayes.GaussianNB(),
        "bernoulli_nb": naive_bayes.BernoulliNB(),
        "mlp": neural_network.MLPClassifier((5, 4), max_iter=30, random_state=seed),
        "gaussian_process": gaussian_process.GaussianProcessClassifier(),
        "one_vs_rest": multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
        "one_vs_one": multiclass.OneVsOneClassifier(linear_model.LogisticRegression()),
    }
    for name, estimator in each.items():
        data = "two classes" if name == "gaussian_process" else "classes"
        yield Plan(name, estimator, data, {} if name == "linear_svc" else PLAIN)
    yield Plan("logistic_named", linear_model.LogisticRegression(), "named classes")
    yield Plan("multinomial_nb", naive_bayes.MultinomialNB(), "counts", PLAIN)
    yield Plan("complement_nb", naive_bayes.ComplementNB(), "counts", PLAIN)
    yield Plan("two_classes", linear_model.LogisticRegression(), "two classes", PLAIN)
    yield Plan("tree_named", tree.DecisionTreeClassifier(max_depth=3, random_state=seed), "named classes", PLAIN)
    yield Plan(
        "forest_double", ensemble.RandomForestClassifier(3, max_depth=3, random_state=seed), "double classes", PLAIN
    )
    several = multioutput.MultiOutputClassifier(linear_model.LogisticRegression())
    yield Plan("several_classes", several, "several classes", PLAIN)


def regressors(seed: int) -> Iterator[Plan]:
    """Yield regressors."""
    each: dict[str, Any] = {
        "linear": linear_model.LinearRegression(),
        "ridge": linear_model.Ridge(),
        "lasso": linear_model.Lasso(0.01),
        "elastic_net": linear_model.ElasticNet(0.01),
        "bayesian_ridge": linear_model.BayesianRidge(),
        "huber": linear_model.HuberRegressor(),
        "poisson": linear_model.PoissonRegressor(),
        "tweedie": linear_model.TweedieRegressor(),
        "tree_regressor": tree.DecisionTreeRegressor(max_depth=4, random_state=seed),
        "forest_regressor": ensemble.RandomForestRegressor(5, max_depth=4, random_state=seed),
        "boosting_regressor": ensemble.GradientBoostingRegressor(n_estimators=5, random_state=seed),
        "hist_regressor": ensemble.HistGradientBoostingRegressor(max_iter=5, random_state=seed),
        "ada_regressor": ensemble.AdaBoostRegressor(n_estimators=3, random_state=seed),
        "svr": svm.SVR(),
        "linear_svr": svm.LinearSVR(random_state=seed),
        "nu_svr": svm.NuSVR(kernel="sigmoid"),
        "knn_regressor": neighbors.KNeighborsRegressor(3, weights="distance"),
        "mlp_regressor": neural_network.MLPRegressor(
            hidden_layer_sizes=(4,), activation="tanh", max_iter=30, random_state=seed
        ),
        "gp_regressor": gaussian_process.GaussianProcessRegressor(),
        "voting_regressor": ensemble.VotingRegressor(
            [("a", linear_model.Ridge()), ("b", tree.DecisionTreeRegressor())]
        ),
    }
    for name, estimator in each.items():
        data = "counted numbers" if name in ("poisson", "tweedie") else "numbers"
        yield Plan(name, estimator, data)
    yield Plan("linear_double", linear_model.LinearRegression(), "double numbers")


def transformers(seed: int) -> Iterator[Plan]:
    """Yield scalers, encoders, imputers, reductions of dimensions, and pipelines."""
    each: dict[str, Any] = {
        "standard_scaler": preprocessing.StandardScaler(),
        "min_max_scaler": preprocessing.MinMaxScaler(clip=True),
        "robust_scaler": preprocessing.RobustScaler(),
        "max_abs_scaler": preprocessing.MaxAbsScaler(),
        "normalizer": preprocessing.Normalizer("l1"),
        "binarizer": preprocessing.Binarizer(),
        "polynomial": preprocessing.PolynomialFeatures(2),
        "power": preprocessing.PowerTransformer(),
        "bins": preprocessing.KBinsDiscretizer(3, encode="onehot-dense"),
        "bins_ordinal": preprocessing.KBinsDiscretizer(3, encode="ordinal"),
        "pca": decomposition.PCA(2, random_state=seed),
        "svd": decomposition.TruncatedSVD(2, random_state=seed),
        "kernel_pca": decomposition.KernelPCA(2, kernel="rbf", random_state=seed),
        "projection": random_projection.GaussianRandomProjection(3, random_state=seed),
        "variance": feature_selection.VarianceThreshold(),
    }
    for name, estimator in each.items():
        yield Plan(name, estimator, "numbers")
    yield Plan("select_best", feature_selection.SelectKBest(k=2), "classes")
    yield Plan("imputer", impute.SimpleImputer(), "numbers with gaps")
    yield Plan("imputer_most", impute.SimpleImputer(strategy="most_frequent"), "numbers with gaps")
    yield Plan("knn_imputer", impute.KNNImputer(n_neighbors=2), "numbers with gaps")
    yield Plan("one_hot", preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False), "words")
    yield Plan("ordinal", preprocessing.OrdinalEncoder(), "words")
    yield Plan("label_encoder", preprocessing.LabelEncoder(), "labels")
    yield Plan("label_binarizer", preprocessing.LabelBinarizer(), "labels")
    yield Plan("target_encoder", preprocessing.TargetEncoder(random_state=seed), "words of two")
    yield Plan("hasher", feature_extraction.FeatureHasher(8, input_type="string"), "words")
    yield Plan("count_words", feature_extraction.text.CountVectorizer(), "texts")
    yield Plan("tfidf", feature_extraction.text.TfidfVectorizer(ngram_range=(1, 2)), "texts")
    columns = compose.ColumnTransformer(
        [
            ("scaled", preprocessing.StandardScaler(), [0, 1]),
            ("bins", preprocessing.Binarizer(), [2]),
            ("rest", "passthrough", [3]),
        ]
    )
    yield Plan("columns", pipeline.make_pipeline(columns, linear_model.LogisticRegression()), "classes", PLAIN)
    steps = (impute.SimpleImputer(), preprocessing.StandardScaler(), decomposition.PCA(2), linear_model.Ridge())
    yield Plan("pipeline", pipeline.make_pipeline(*steps), "numbers with gaps")
    union = pipeline.make_union(preprocessing.StandardScaler(), preprocessing.MinMaxScaler())
    yield Plan("union", pipeline.make_pipeline(union, svm.LinearSVC(random_state=seed)), "classes")
    words = pipeline.make_pipeline(
        preprocessing.OneHotEncoder(handle_unknown="ignore"), tree.DecisionTreeClassifier(max_depth=3)
    )
    yield Plan("words_tree", words, "words", PLAIN)


def clusters(seed: int) -> Iterator[Plan]:
    """Yield clustering, mixtures, and what finds outliers."""
    yield Plan("k_means", cluster.KMeans(3, n_init=1, random_state=seed), "numbers")
    yield Plan("mini_batch", cluster.MiniBatchKMeans(3, n_init=1, random_state=seed), "numbers")
    yield Plan("mixture", mixture.GaussianMixture(2, random_state=seed), "numbers")
    yield Plan("mixture_tied", mixture.GaussianMixture(2, covariance_type="tied", random_state=seed), "numbers")
    yield Plan("bayesian_mixture", mixture.BayesianGaussianMixture(n_components=2, random_state=seed), "numbers")
    yield Plan("isolation", ensemble.IsolationForest(n_estimators=5, random_state=seed), "numbers")
    yield Plan("one_class", svm.OneClassSVM(), "numbers")
    yield Plan("outlier", neighbors.LocalOutlierFactor(3, novelty=True), "numbers")


def data_of(plan: Plan, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what an estimator learns from: rows, and what belongs to each."""
    random = generator(plan.data, seed)
    rows = random.normal(size=(40, 4)).astype(np.float32)
    kinds = (rows[:, 0] > -0.4).astype(np.int64) + (rows[:, 1] > 0.3)
    numbers = (rows @ random.normal(size=4) + rows[:, 0] ** 2).astype(np.float32)
    words = np.array(["red", "green", "blue"], dtype=object)[random.integers(0, 3, (40, 2))]
    texts = np.array([" ".join(random.choice(["a cat", "the dog", "runs", "sleeps"], 3)) for _ in rows], dtype=object)
    gaps = np.where(random.random(rows.shape) < 0.1, np.float32(np.nan), rows)
    return {
        "classes": (rows, kinds),
        "two classes": (rows, kinds.clip(0, 1)),
        "double classes": (rows.astype(np.float64), kinds),
        "named classes": (rows, np.array(["no", "perhaps", "yes"])[kinds]),
        "several classes": (rows, np.stack([kinds, 2 - kinds], 1)),
        "counts": (random.integers(0, 5, (40, 4)).astype(np.float32), kinds),
        "numbers": (rows, numbers),
        "double numbers": (rows.astype(np.float64), numbers.astype(np.float64)),
        "counted numbers": (rows, np.abs(numbers) + 0.5),
        "numbers with gaps": (gaps, numbers),
        "words": (words, kinds),
        "words of two": (words, kinds.clip(0, 1)),
        "labels": (words[:, 0], kinds),
        "texts": (texts, kinds),
    }[plan.data]


def drafts(seed: int, every: bool) -> Iterator[Draft]:
    """Yield each estimator at two versions of the default domain."""
    plans = [plan for group in (classifiers, regressors, transformers, clusters) for plan in group(seed)]
    for number, plan in enumerate(plans):
        for version in some_versions(VERSIONS, number, 2, every):
            yield Draft(f"skl2onnx/{plan.name}-{version}", functools.partial(export, plan, seed, version))


def export(plan: Plan, seed: int, version: int) -> Exported:
    """Fit an estimator, unless it is, and export it at a version of the default domain and those of its time."""
    rows, targets = data_of(plan, seed)
    if plan.data == "labels":
        plan.estimator.fit(rows)
    else:
        plan.estimator.fit(rows, targets)
    kind = KINDS[rows.dtype.name]
    width = [] if rows.ndim == 1 and plan.data == "labels" else [rows.shape[1] if rows.ndim == 2 else 1]
    shape = [None, *width]
    options = {id(plan.estimator): plan.options} if plan.options else None
    domains = {"": version, "ai.onnx.ml": 2 if version < 15 else 3}
    model = convert_sklearn(plan.estimator, initial_types=[("x", kind(shape))], target_opset=domains, options=options)
    sample = rows[:6].reshape([6, *width])
    return model, {"x": sample.astype(str) if sample.dtype == object else sample}
