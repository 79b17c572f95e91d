"""Run the commands of walk.md again and put their output into walk.md and README.md.

``python docs/outputs.py`` in an environment that has ``tvs``; needs the command ``script``. Numbers
in the text around the blocks stay as they are.
"""

import re
import subprocess
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
PAGES = (DOCS / "walk.md", DOCS.parent / "README.md")
CONSOLE = re.compile(r"(?<=```console\n).*?(?=```\n)", re.DOTALL)
HEREDOC = re.compile(r"\$ python - <<'END'\n(.*?)\nEND\n", re.DOTALL)
DEMO = re.compile(r"(?<=```text\n)Made up:.*?(?=```\n)", re.DOTALL)
HIDDEN = "tvs: warning: no browser"


def run(command: str, folder: Path) -> str:
    """What a command shows on a terminal."""
    done = subprocess.run(
        ["script", "-qefc", f"stty cols 100; {command}", "/dev/null"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [line.rstrip("\r").rsplit("\r")[-1].rstrip() for line in done.stdout.split("\n")]
    text = "\n".join(line for line in lines if not line.startswith(HIDDEN)).strip("\n")
    print(f"$ {command}\n{text}\n")
    return re.sub(r"\n{3,}", "\n\n", text)


def renew(block: str, shown: dict[str, str]) -> str:
    """A block with the new output of the commands that had some."""
    parts = re.split(r"(?m)^\$ ", block)
    new = [parts[0]]
    for part in parts[1:]:
        command, _, output = part.partition("\n")
        if command in shown and output.strip():
            output = f"{shown[command]}\n"
        new.append(f"{command}\n{output}")
    return "$ ".join(new)


def demo(folder: Path) -> str:
    """What ``tvs demo`` shows, without how the table was read."""
    text = run(f"tvs demo --out {folder}/demo", folder).replace(
        f"{folder}/demo", "/tmp/tvs-demo-..."
    )
    head, tail = text.split("\n")[:3], text[re.search(r"(?m)^[\d,]+ of ", text).start() :]
    return "\n".join([*head, "...", tail.partition("\nNext:")[0], ""])


def main() -> None:
    """Run all commands in a folder of their own, and rewrite the pages."""
    walk = PAGES[0].read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(["python", "-c", HEREDOC.search(walk)[1]], cwd=folder, check=True)
        # The files are in the cache of the system while times are taken.
        run("tvs select diabetes.csv --target progression --plays 5 --out first", folder)
        commands = re.findall(r"(?m)^\$ (tvs (?!demo$|.*--open).*)$", walk)
        shown = {command: run(command, folder) for command in commands}
        example = demo(folder)
    for page in PAGES:
        text = CONSOLE.sub(lambda found: renew(found[0], shown), page.read_text())
        page.write_text(DEMO.sub(lambda _: example, text))


if __name__ == "__main__":
    main()
