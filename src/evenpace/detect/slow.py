"""The detector of slow jobs: onset, who it is, relief; also who is slow from the start.

Feed it one iteration of the job at a time. It ties the expected work, the frozen baseline (whether), the
change point (since when) and the attribution (who) together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.attribution import SlowKind, SlowVerdict, attribute
from evenpace.detect.baseline import Baseline, Change, Settings
from evenpace.detect.changepoint import locate_onset, locate_relief
from evenpace.detect.fromstart import WINDOW as START_WINDOW
from evenpace.detect.fromstart import FromStart
from evenpace.detect.sample import Sample, durations_of, stretch_of
from evenpace.detect.slow_events import Onset, Relief, SlowEvent, Update
from evenpace.detect.verdicts import bears_out, names, same
from evenpace.detect.workload import Workload, learn

Array = NDArray[np.float64]
WINDOW = 60  # iterations before a decision in which its onset or relief is looked for
SLOW_WINDOW = 20  # the latest slow iterations, on which a verdict stands
LATEST = 8  # of them, on which somebody else may be named at the same pace
CLEARED = 0.25  # of a rank's growth: what is left of it when the rank is well again
UNKNOWN = 20  # iterations in a row without their work, after which the pace is learned without it


class SlowDetector:
    """Watch a job's iterations; columns of all arrays follow `ranks`.

    `roles` says which ranks do the same work (one string a rank), `nodes` maps a rank to its node.
    """

    def __init__(
        self,
        ranks: Sequence[int],
        roles: Sequence[str],
        nodes: Mapping[int, str],
        settings: Settings | None = None,
    ) -> None:
        self._ranks, self._roles, self._nodes = list(ranks), list(roles), dict(nodes)
        self._baseline = Baseline(settings)
        self._clear()

    def _clear(self) -> None:
        self._healthy: deque[Sample] = deque(maxlen=self._baseline.settings.settle)
        self._recent: deque[Sample] = deque(maxlen=WINDOW)
        self._slow: deque[Sample] = deque(maxlen=SLOW_WINDOW)
        self._onset: int | None = None
        self._ratio = 1.0  # at which the baseline sees the job
        self._verdict = SlowVerdict(SlowKind.UNCLEAR)
        self._settled = False  # the verdict names somebody, and stands on the latest pace
        self._from_start = FromStart(self._ranks, self._roles, self._nodes)
        self._workload: Workload | None = None
        self._weighed = False  # whether it was tried
        self._unknown = 0  # iterations in a row whose work is not known, though it was
        self._unshared: int | None = None  # likewise those without micro-batches, None where they never were
        self._seen = 0

    def work_changed(self) -> None:
        """Learn anew: what was said so far is void, and no relief will be reported for it."""
        self._baseline.relearn()
        self._clear()

    @property
    def ready(self) -> bool:
        """Tell whether the healthy pace is known."""
        return self._baseline.ready

    def take_up(self) -> None:
        """Go on with the healthy pace that was learned, after the job has done another kind of work."""
        self._baseline.take_up()
        for samples in (self._recent, self._slow):
            samples.clear()
        self._onset, self._ratio, self._settled = None, 1.0, False
        self._verdict = SlowVerdict(SlowKind.UNCLEAR)
        self._from_start.forget()

    def feed(self, sample: Sample) -> list[SlowEvent]:
        """Take the next iteration; return what it decided."""
        if sample.irregular or not sample.sound or self._lacks_share(sample):
            return []
        if (usual := self._usual(sample.evened())) is None:
            return []
        sample = usual
        change, learned = self._baseline.feed(sample.duration)
        self._seen += 1
        if self._seen <= self._baseline.settings.warm_up:
            return []
        self._recent.append(sample)
        if change is not None:
            return self._changed(change, sample)
        if learned:
            self._healthy.append(sample)
            self._weigh()
        return self._judge_again(sample) if self._onset is not None else self._compare_peers(sample)

    def _lacks_share(self, sample: Sample) -> bool:
        """Tell whether micro-batches are not known that were: whether there is a plan cannot be told then."""
        if sample.counts is not None:
            self._unshared = 0
        elif self._unshared is not None:
            self._unshared = self._unshared + 1 if self._unshared < UNKNOWN else None
        return bool(self._unshared)

    def _usual(self, sample: Sample) -> Sample | None:
        """Return the sample as with the usual work; None where that cannot be told."""
        if self._workload is None:
            return sample
        work = sample.work
        if work is None or work.shape[1] != len(self._workload.rates):
            self._unknown += 1
            if self._unknown < UNKNOWN:
                return None
            self.work_changed()
            return sample
        self._unknown = 0
        return sample.scaled(self._workload.factor(work))

    def _weigh(self) -> None:
        """Learn once, when the baseline freezes, what the work explains; the pace is then learned anew."""
        if self._weighed or len(self._healthy) < self._baseline.settings.settle:
            return
        self._weighed = True
        works = [sample.work for sample in self._healthy]
        known = [work for work in works if work is not None]
        if len(known) < len(works) or len({work.shape for work in known}) > 1:
            return
        self._workload = learn(durations_of(self._healthy), np.stack(known))
        if self._workload is None:
            return
        for samples in (self._healthy, self._recent):
            usual = [one for sample in samples if (one := self._usual(sample)) is not None]
            samples.clear()
            samples.extend(usual)
        self._baseline.relearn(warm_up=False)
        for sample in self._healthy:
            self._baseline.feed(sample.duration)

    def _changed(self, change: Change, sample: Sample) -> list[SlowEvent]:
        before, self._ratio = self._ratio, self._baseline.ratio
        if change is Change.FASTER:
            self._healthy.clear()
            over = self._from_start.forget()
            return [Relief(self._recent[0].iteration, sample.iteration, from_start=True)] if over else []
        samples = list(self._recent)
        level, noise = self._baseline.level * before, self._baseline.noise
        durations = durations_of(samples)
        if change is Change.RELIEF:
            found = locate_relief(durations, self._baseline.level, noise, before)
        elif self._ratio < before:
            found = locate_onset(1 / durations, 1 / level, noise, before / self._ratio)
        else:
            found = locate_onset(durations, level, noise, self._ratio / before)
        stretch = samples[min(found.at, len(samples) - 1) :]
        self._recent.clear()
        self._recent.extend(stretch)
        if change is Change.RELIEF:
            self._onset = None
            return [Relief(stretch[0].iteration, sample.iteration)]
        self._slow = deque(stretch, maxlen=SLOW_WINDOW)
        if change is Change.SHIFT and self._ratio < before and self._is_over():
            self.take_up()
            return [Relief(stretch[0].iteration, sample.iteration)]
        return [
            self._begin(sample, found.confidence)
            if change is Change.ONSET
            else self._shift(sample, stretch[0], eased=self._ratio < before)
        ]

    def _is_over(self) -> bool:
        """Tell whether those who were named are well again, though the job is not as fast as it was."""
        return bool(self._verdict.culprits) and self._well(self._attribute())

    def _well(self, now: SlowVerdict) -> bool:
        """Tell whether little is left of what those who were named had grown by."""
        before = self._verdict
        return all(
            now.excess.get(rank, 0.0) < CLEARED * before.excess.get(rank, 0.0) for rank in before.culprits
        )

    def _begin(self, sample: Sample, certainty: float) -> Onset:
        self._onset = self._slow[0].iteration
        self._verdict = self._attribute()
        self._settled = names(self._verdict)
        return Onset(self._onset, sample.iteration, self._verdict, self._pace(), certainty)

    def _shift(self, sample: Sample, first: Sample, eased: bool) -> Update:
        """Tell another pace of the slow job; who was named stays named while that is borne out.

        A job that is less slow accuses nobody anew: its work may have been moved from the slow rank to them.
        """
        verdict = self._attribute()
        self._settled = names(verdict) or (eased and names(self._verdict))
        if eased and names(self._verdict):
            fewer = names(verdict) and set(verdict.culprits) < set(self._verdict.culprits)
            self._verdict = verdict if fewer else self._verdict
        elif self._settled or not bears_out(verdict, self._verdict):
            self._verdict = verdict
        onset = self._onset if self._onset is not None else first.iteration
        return Update(onset, sample.iteration, self._verdict, self._pace(), first.iteration)

    def _pace(self) -> float:
        return float(np.median(durations_of(self._slow))) / self._baseline.level

    def _attribute(self) -> SlowVerdict:
        return attribute(stretch_of(self._healthy), stretch_of(self._slow), self._ranks, self._nodes)

    def _judge_again(self, sample: Sample) -> list[SlowEvent]:
        """Look again while nobody is named: a slow start of evidence, or one that others' noise hid.

        Somebody else may also have taken the place of who was named, at the same pace.
        """
        self._slow.append(sample)
        if self._onset is None:
            return []
        if self._settled:
            return self._replaced(self._onset, sample)
        verdict = self._attribute()
        self._settled = names(verdict)
        becomes_clear = self._verdict.kind is SlowKind.UNCLEAR and verdict.kind is not SlowKind.UNCLEAR
        if not (self._settled or becomes_clear) or same(verdict, self._verdict):
            return []
        self._verdict = verdict
        return [Update(self._onset, sample.iteration, verdict, self._pace())]

    def _replaced(self, onset: int, sample: Sample) -> list[SlowEvent]:
        """Tell who is slow now where none of those who were named is any more."""
        latest = list(self._slow)[-LATEST:]
        if not self._verdict.culprits or len(latest) < LATEST:
            return []
        verdict = attribute(stretch_of(self._healthy), stretch_of(latest), self._ranks, self._nodes)
        others = names(verdict) and not set(verdict.culprits) & set(self._verdict.culprits)
        if not others or not self._well(verdict):
            return []
        self._verdict, self._slow = verdict, deque(latest, maxlen=SLOW_WINDOW)
        return [Update(onset, sample.iteration, verdict, self._pace(), latest[0].iteration)]

    def _compare_peers(self, sample: Sample) -> list[SlowEvent]:
        samples = list(self._recent)[-START_WINDOW:]
        if len(samples) < START_WINDOW:
            return []
        outlier = self._from_start.feed(stretch_of(samples))
        if self._from_start.over():
            return [Relief(sample.iteration, sample.iteration, from_start=True)]
        if outlier is None:
            return []
        return [Onset(samples[0].iteration, sample.iteration, *outlier, from_start=True)]
