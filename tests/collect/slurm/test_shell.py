from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.collect.slurm.shell import commands, directives, handed_on, lines


def test_lines_are_joined_and_without_comments() -> None:
    text = "#!/bin/bash\n# nvidia-smi\nsrun \\\n  python train.py  # go\n\n"
    assert list(lines(text)) == ["srun    python train.py"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("if ! nvidia-smi -L; then exit 1; fi", ["nvidia-smi", "exit"]),
        ("timeout -k 5 30 nvidia-smi | grep -c GPU", ["nvidia-smi", "grep"]),
        ("N=$(ls /dev/nvidia*)", ["ls"]),
        ("for g in 0 1 2; do echo $g; done", ["echo"]),
    ],
)
def test_commands_of_a_line(line: str, found: list[str]) -> None:
    assert [words[0] for words in commands(line)] == found


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("df /tmp | grep -q 100% && scontrol update nodename=$n state=drain reason=full\nexit 0", ""),
        ("check() {\n  mountpoint /lustre || return 1\n}\ncheck || exit 1", ""),
        ('n=${SLURMD_NODENAME:-}; echo "$(date +%T) node=$n" >> /var/log/health.log', ""),
        ('scontrol update nodename=$n state=drain reason="$(cat /run/bad)"', ""),
        ("case $1 in idle) /opt/site/health.py ;; esac", "/opt/site/health.py"),
        ("/opt/site/health.py", "/opt/site/health.py"),
        (". /etc/site/checks", "."),
        ("/usr/sbin/nhc", "/usr/sbin/nhc"),
        ("$TOOL -q", "$TOOL"),
    ],
)
def test_what_a_script_hands_on(text: str, first: str) -> None:
    assert handed_on(text) == first


def test_directives_have_long_names() -> None:
    text = "#!/bin/bash\n#SBATCH -N 4 --signal=USR1@300\n#SBATCH --output %x.out # log\n"
    text += "#SBATCH -o x-%N.out\nsrun x\n#SBATCH -t 5\n"
    assert directives(text) == {"nodes": "4", "signal": "USR1@300", "output": "x-%N.out"}


@given(st.text())
def test_no_text_raises(text: str) -> None:
    handed_on(text)
    directives(text)
