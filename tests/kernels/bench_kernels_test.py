"""That bench-kernels measures what it names: every row once, in the shape of all benches."""

import json
import os
import pathlib
import subprocess

BENCH = pathlib.Path(os.environ["NORMLAB_BIN"]) / "bench-kernels"
ROWS = 64
MEASURES = ["add/gb_per_s", "geonorm/fwd+bwd/vs_composed", "layernorm/fwd/vs_torch",
            "layernorm/fwd+bwd/vs_torch", "rmsnorm/fwd/vs_torch", "rmsnorm/fwd+bwd/vs_torch",
            "residual-pre/fwd+bwd/vs_torch",
            *(f"geonorm/{passes}/{measure}" for passes in ("fwd", "bwd", "fwd+bwd")
              for measure in ("gb_per_s", "vs_add_bytes"))]


def run(*arguments, **environment):
    return subprocess.run([BENCH, *arguments], env={**os.environ, **environment},
                          capture_output=True, text=True, check=False)


def main():
    done = run("--json", "--rows", str(ROWS), "--rounds", "1")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    names = sorted(entry["name"] for entry in found)
    wanted = sorted(measure.replace("/", f"/{ROWS}x{cols}/{kind}/", 1) for measure in MEASURES
                    for cols in (128, 768, 1600) for kind in ("f32", "bf16"))
    assert names == wanted, set(names) ^ set(wanted)
    for entry in found:
        assert set(entry) == {"name", "value", "unit", "spread"}, entry
        assert entry["unit"] == ("GB/s" if entry["name"].endswith("gb_per_s") else "ratio"), entry
        assert entry["value"] > 0 and entry["spread"] == 0, entry  # of one round
    done = run("--help")
    assert done.returncode == 0 and "--threads" in done.stdout, done
    for wrong in (("--rows", "12x"), ("--rows", "0"), ("--threads", "all"), ("--round", "3")):
        done = run(*wrong)
        assert done.returncode == 2 and wrong[0] in done.stderr and not done.stdout, done
    done = run("--rows", "1", "--filter", "nothing")
    assert done.returncode == 1 and "matches no bench" in done.stderr, done
    done = run("--rows", "1", NORMLAB_CPU_ISA="abacus")
    assert done.returncode == 1 and "could not measure: " in done.stderr, done
    print(f"{len(found)} rows")


if __name__ == "__main__":
    main()
