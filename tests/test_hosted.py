"""The hosted app installs requirements.txt only: nothing that sizes may need, or import, torch and transformers."""

import subprocess
import sys

SIZE_EVERYTHING = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "transformers", "safetensors"):
            raise ImportError(f"{name} is not installed on the hosted app")

sys.meta_path.insert(0, Refuse())
from model_catalog.lookup import entry_ids
from sizing.answer import answer

for model in entry_ids():
    result = answer({"model": model, "engine": "minimum", "accelerator": "h100-sxm5-80gb"})
    assert "error" not in result, (model, result)
    assert result["cache"]["logical_bytes"] >= 0
assert "torch" not in sys.modules
print(len(entry_ids()))
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_every_entry_is_sized_without_torch() -> None:
    assert int(run(SIZE_EVERYTHING)) >= 280


def test_the_app_and_its_pages_import_no_torch() -> None:
    code = """
import sys
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("app.py", default_timeout=60).run()
assert not app.exception, app.exception
assert "torch" not in sys.modules
assert "transformers" not in sys.modules
"""
    run(code)
