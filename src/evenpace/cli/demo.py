"""Watch a small training be slowed and hung, and see what evenpace says and does."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenpace.terms import LANGUAGES

if TYPE_CHECKING:
    from evenpace.demo.judge import Proof
    from evenpace.demo.story import Story
    from evenpace.findings import Finding


@click.command()
@click.option(
    "--fast", is_flag=True, help="Leave out the undisturbed training that the loss is compared with."
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for everything.  [default: evenpace-runs/<time>-demo]",
)
@click.option(
    "--lang", type=click.Choice(LANGUAGES), default="en", show_default=True, help="Language of the story."
)
def command(fast: bool, keep: Path | None, lang: str) -> int:
    """Train a tiny GPT on four emulated nodes and a spare; slow one node, hang another; show the report.

    Needs PyTorch, no GPU. Exit code 0: both nodes were named, nobody else, and nothing was lost; else 1.
    """
    from evenpace.demo import judge, training
    from evenpace.demo.story import Story
    from evenpace.watch.runfolder import RunFolder, default_folder

    training.require_torch()
    folder = RunFolder.create(keep or default_folder(["demo"], time.time())).path
    story = Story(folder, lang, click.echo)
    found = judge.findings(story.play())
    page = folder / "report.html"
    page.write_text(judge.report(folder, lang, "html"), encoding="utf-8")
    if not fast:
        story.say("demo-compare")
    proof = judge.prove(folder, compare=not fast)
    click.echo(f"\n{judge.report(folder, lang, 'text').rstrip()}\n")
    return 0 if _verdict(story, found, proof, page) else 1


def _verdict(story: Story, found: list[Finding], proof: Proof, page: Path) -> bool:
    """Tell what was injected, what was said and whether it was right; return whether all was."""
    from evenpace.demo import judge

    for one in story.injected:
        story.say("demo-was-injected", fault=one.fault.name, node=one.node, rank=one.rank)
    for finding in found:
        story.say("demo-was-said", summary=finding.summary)
    named = judge.right(found, story.injected)
    story.say("demo-named" if named else "demo-not-named")
    lineage = proof.lineage
    counts = {"once": lineage.once, "samples": lineage.samples, "repeated": lineage.repeated_steps}
    story.say("demo-samples" if lineage.exact else "demo-samples-lost", **counts)
    same = proof.reference is None or proof.same_loss
    if proof.reference is not None:
        key = "demo-same-loss" if same else "demo-other-loss"
        story.say(key, loss=proof.loss, reference=proof.reference)
    story.say("demo-page", page=page)
    return named and lineage.exact and same and proof.loss is not None
