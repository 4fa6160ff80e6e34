import os
import sys
from pathlib import Path

# The server is started as `python` from the root of the project: that of this environment.
os.chdir(Path(__file__).parents[2])
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
