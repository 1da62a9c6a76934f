"""Boosted trees of LightGBM and XGBoost, by onnxmltools."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import lightgbm
import numpy as np
import onnxmltools
from onnxmltools.convert.common.data_types import FloatTensorType

from judges.exporters.drafts import Draft, Exported, generator, some_versions

VERSIONS = (9, 13, 15)
TREES = 6


def estimators(seed: int) -> Iterator[tuple[str, Any, str]]:
    """Yield names, estimators and the kind of their targets."""
    options: dict[str, Any] = {"n_estimators": TREES, "num_leaves": 7, "min_child_samples": 3, "random_state": seed}
    options |= {"verbose": -1, "n_jobs": 1}
    yield "lightgbm_binary", lightgbm.LGBMClassifier(**options), "two"
    yield "lightgbm_classes", lightgbm.LGBMClassifier(**options), "three"
    yield "lightgbm_regressor", lightgbm.LGBMRegressor(**options), "number"
    yield "lightgbm_poisson", lightgbm.LGBMRegressor(objective="poisson", **options), "count"
    yield "lightgbm_quantile", lightgbm.LGBMRegressor(objective="quantile", alpha=0.3, **options), "number"
    bagged = options | {"subsample": 0.7, "subsample_freq": 1}
    yield "lightgbm_forest", lightgbm.LGBMRegressor(boosting_type="rf", **bagged), "number"
    yield "lightgbm_dart", lightgbm.LGBMClassifier(boosting_type="dart", **options), "two"
    try:
        import xgboost
    except ImportError:
        return
    options = {"n_estimators": TREES, "max_depth": 3, "random_state": seed, "n_jobs": 1}
    yield "xgboost_binary", xgboost.XGBClassifier(**options), "two"
    yield "xgboost_classes", xgboost.XGBClassifier(**options), "three"
    yield "xgboost_regressor", xgboost.XGBRegressor(**options), "number"
    yield "xgboost_poisson", xgboost.XGBRegressor(objective="count:poisson", **options), "count"


def drafts(seed: int, every: bool) -> Iterator[Draft]:
    """Yield each estimator at two versions of the default domain."""
    for number, (name, estimator, kind) in enumerate(estimators(seed)):
        for version in some_versions(VERSIONS, number, 2, every):
            yield Draft(f"lightgbm/{name}-{version}", functools.partial(export, estimator, kind, seed, version))


def export(estimator: Any, kind: str, seed: int, version: int) -> Exported:
    """Fit an estimator and export it at a version of the default domain."""
    random = generator(kind, seed)
    rows = random.normal(size=(120, 5)).astype(np.float32)
    score = rows[:, 0] + rows[:, 1] * rows[:, 2]
    targets = {
        "two": (score > 0).astype(np.int64),
        "three": np.digitize(score, [-0.7, 0.7]),
        "number": score,
        "count": np.floor(np.abs(score) * 2),
    }[kind]
    estimator.fit(rows, targets)
    is_lightgbm = type(estimator).__module__.startswith("lightgbm")
    convert = onnxmltools.convert_lightgbm if is_lightgbm else onnxmltools.convert_xgboost
    options = {"zipmap": False} if is_lightgbm and kind == "two" else {}
    types = [("x", FloatTensorType([None, rows.shape[1]]))]
    model = convert(estimator, initial_types=types, target_opset=version, **options)
    return model, {"x": rows[:9]}
