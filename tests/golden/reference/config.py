"""The knobs that decide what a model computes, under the names of the sweep file."""

from __future__ import annotations

from typing import Any

# layers, width, heads
PRESETS = {
    "nano": (4, 128, 4),
    "micro": (6, 384, 6),
    "gpt2-124m": (12, 768, 12),
    "gpt2-774m": (36, 1280, 20),
    "gpt2-1558m": (48, 1600, 25),
    "neox-125m": (12, 768, 12),
    "neox-350m": (24, 1024, 16),
    "neox-760m": (24, 1536, 16),
    "neox-1.3b": (24, 2048, 16),
}

DEFAULTS: dict[str, Any] = {
    "model.preset": "nano",
    "model.seq_len": 128,
    "norm.placement": "pre",
    "norm.kind": "layernorm",
    "norm.eps": 1e-5,
    "norm.gain": True,
    "norm.decay": "harmonic",
    "norm.alpha": 1.0,
    "norm.decay_unit": "block",
    "norm.retraction": "exp",
    "norm.angle": "adaptive",
    "norm.angle_clamp": "off",
    "norm.pb_relax": False,
    "norm.inner": False,
    "norm.embedding": False,
    "residual.dt": 1.0,
    "residual.scale": 0.22,
    "residual.warmup": 1000,
    "init.scheme": "placement",
    "init.std": 0.02,
    "init.residual_scale": 1.0,
    "train.batch": 8,
    "train.precision": "fp32",
}


def flatten(nested: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"norm": {"kind": "rmsnorm"}} -> {"norm.kind": "rmsnorm"}."""
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        if isinstance(value, dict):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def nest(flat: dict[str, Any]) -> dict[str, Any]:
    """The inverse of flatten: what run.json looks like."""
    nested: dict[str, Any] = {}
    for dotted, value in flat.items():
        *groups, key = dotted.split(".")
        place = nested
        for group in groups:
            place = place.setdefault(group, {})
        place[key] = value
    return nested


def preset_defaults(preset: str) -> dict[str, Any]:
    layers, width, heads = PRESETS[preset]
    neox = preset.startswith("neox-")
    return {
        "model.layers": layers,
        "model.width": width,
        "model.heads": heads,
        "model.positions": "rotary" if neox else "learned",
        "model.tied_head": not neox,
        "model.bias": neox,
        "model.activation": "gelu-tanh" if preset.startswith("gpt2-") else "gelu",
    }


class Config:
    """Reads every knob with its default filled in; `config["norm.kind"]`."""

    def __init__(self, given: dict[str, Any]):
        self.given = flatten(given)
        self._values = {
            **DEFAULTS,
            **preset_defaults(self.given.get("model.preset", DEFAULTS["model.preset"])),
            **self.given,
        }
        self._values.setdefault("model.ffn", 4 * self._values["model.width"])

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def get(self, key: str, default: Any = None) -> Any:
        return self._values.get(key, default)

    def replace(self, **changes: Any) -> "Config":
        """A copy with other values; dots are written as double underscores."""
        return Config({**self.given, **{k.replace("__", "."): v for k, v in changes.items()}})

    @property
    def layers(self) -> int:
        return self["model.layers"]

    @property
    def width(self) -> int:
        return self["model.width"]

    @property
    def sublayers(self) -> int:
        return 2 * self.layers
