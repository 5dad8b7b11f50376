"""Machines that meet at a store, in rounds: who takes part, and when a new round has to begin.

All launchers share one value of the store, changed by compare-and-set. A round is open until enough
machines have come; then its members start their processes. Whoever sees that processes failed, that
a machine is gone or that another one waits opens the next round.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from ._errors import DistNetworkError
from ._launch import Place
from ._store import Store

__all__ = ["Closed", "Meeting", "Round", "Timing"]

_PAUSE = 0.05


class Closed(Exception):
    """The job is over; ``succeeded`` says how."""

    def __init__(self, succeeded: bool, why: str) -> None:
        super().__init__(why)
        self.succeeded = succeeded


@dataclass
class Timing:
    """How long is waited, in seconds.

    Args:
        join: for enough machines.
        last_call: for more than enough, since the last one came; members of the round before are
            waited for in any case.
        beat: between two signs of life.
        beats: how many may be missing.
        host: whether this launcher keeps the store; None: the one that can listen at the endpoint.
    """

    join: float = 600.0
    last_call: float = 30.0
    beat: float = 1.0
    beats: int = 5
    host: bool | None = None

    @property
    def patience(self) -> float:
        """After so long without a sign of life a machine is gone."""
        return self.beat * self.beats

    @classmethod
    def parse(cls, text: str) -> Timing:
        """From torchrun's ``--rdzv-conf``: "join_timeout=600,last_call_timeout=30,..."

        Raises:
            ValueError: a name that is not known.
        """
        names = {"timeout": "join", "join_timeout": "join", "last_call_timeout": "last_call",
                 "keep_alive_interval": "beat", "keep_alive_max_attempt": "beats"}  # fmt: skip
        made = cls()
        for part in filter(None, text.split(",")):
            name, _, value = part.partition("=")
            if name == "is_host":
                made.host = value.lower() in ("1", "true", "t", "yes", "y")
            elif name in names:
                kind = type(getattr(made, names[name]))
                setattr(made, names[name], kind(value))
            else:
                known = ", ".join([*names, "is_host"])
                raise ValueError(f"--rdzv-conf: {name!r} is not one of {known}")
        return made


@dataclass
class Round:
    """What all launchers know.

    Args:
        number: of the round.
        complete: whether its members are settled.
        members: number of processes of each machine.
        waiting: machines that came when it was complete.
        expected: those of the round before, and those that waited for this one.
        done: members whose processes have all ended well.
        restarts: how often processes were started again because some failed.
        over: why the job is over; "" while it is not.
    """

    number: int = 0
    complete: bool = False
    members: dict[str, int] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    restarts: int = 0
    over: str = ""

    @property
    def nodes(self) -> list[str]:
        """The members in the order of their ranks."""
        return sorted(self.members, key=int)


class Meeting:
    """This machine among others.

    Args:
        store: where all meet.
        smallest, largest: how many machines there may be.
        processes: of this machine.
        timing: how long is waited.
        restarts: how often processes may fail.
    """

    def __init__(
        self, store: Store, smallest: int, largest: int, processes: int, timing: Timing,
        restarts: int,
    ) -> None:  # fmt: skip
        self.store = store
        self.smallest, self.largest = smallest, largest
        self.processes = processes
        self.timing = timing
        self.restarts = restarts
        self.name = str(store.add("machines", 1) - 1)
        self.current = Round()
        self._seen: dict[str, tuple[bytes, float]] = {}
        self._ended = threading.Event()
        self._beat()
        self._beating = threading.Thread(target=self._beat_on, daemon=True)
        self._beating.start()

    # --- signs of life -----------------------------------------------------------------------

    def _beat(self) -> None:
        self.store.add(f"alive/{self.name}", 1)

    def _beat_on(self) -> None:
        with contextlib.suppress(DistNetworkError):
            while not self._ended.wait(self.timing.beat):
                self._beat()

    def _is_alive(self, node: str) -> bool:
        """Whether a machine has told so not long ago; one that has left says 0."""
        value, now = self.store.get(f"alive/{node}"), time.monotonic()
        if node not in self._seen or self._seen[node][0] != value:
            self._seen[node] = value, now
        late = now - self._seen[node][1] > self.timing.patience
        return value != b"left" and not late

    # --- the shared value --------------------------------------------------------------------

    def _change(self, change: Callable[[Round], bool]) -> Round:
        """The round after ``change(round)``, which is repeated where another was faster; it says
        whether there is something to write."""
        while True:
            before = self.store.compare_set("round", "", json.dumps(asdict(Round())))
            found = Round(**json.loads(before))
            if not change(found):
                return found
            wanted = json.dumps(asdict(found)).encode()
            if self.store.compare_set("round", before.decode(), wanted.decode()) == wanted:
                return found

    def _read(self) -> Round:
        found = self._change(lambda _: False)
        if found.over:
            raise Closed(found.over == "succeeded", found.over)
        return found

    # --- rounds ------------------------------------------------------------------------------

    def join(self) -> Round:
        """Take part in the next round, once it is complete.

        Raises:
            Closed: the job is over, or too few machines came.
        """
        end = time.monotonic() + self.timing.join
        members: set[str] = set()
        last = time.monotonic()
        while True:
            found = self._change(self._enter)
            if found.over:
                raise Closed(found.over == "succeeded", found.over)
            if found.complete and self.name in found.members:
                self.current = found
                return found
            now = time.monotonic()
            if set(found.members) != members:
                members, last = set(found.members), now
            if not found.complete:
                self._settle(found, now - last > self.timing.last_call)
                if now > end:
                    self.close(f"{len(members)} of at least {self.smallest} machines came within "
                               f"{self.timing.join:g} s")  # fmt: skip
            time.sleep(_PAUSE)

    def _enter(self, found: Round) -> bool:
        """Be a member of an open round; wait while it is complete, or full."""
        if found.over or self.name in found.members:
            return False
        if not found.complete and len(found.members) < self.largest:
            found.members[self.name] = self.processes
            return True
        if self.name in found.waiting:
            return False
        found.waiting.append(self.name)
        return True

    def _settle(self, found: Round, late: bool) -> None:
        """Complete an open round that has all it can wait for; drop members that are gone."""
        gone = {node for node in found.members if not self._is_alive(node)}
        missing = {n for n in found.expected if n not in found.members and self._is_alive(n)}

        def settle(seen: Round) -> bool:
            if seen.number != found.number or seen.complete:
                return False
            for node in gone & seen.members.keys():
                del seen.members[node]
            count = len(seen.members)
            enough = bool(seen.expected) and not missing
            if count == self.largest or (count >= self.smallest and (enough or late)):
                seen.complete = True
                seen.waiting = [n for n in seen.waiting if n not in seen.members]
            return seen.complete or bool(gone)

        if gone or late or (found.expected and not missing) or len(found.members) == self.largest:
            self._change(settle)

    def changed(self) -> str:
        """Why the members' processes have to be started again: "" while they need not.

        Raises:
            Closed: the job is over.
        """
        found = self._read()
        if found.number != self.current.number:
            return "another machine began a new round"
        gone = [n for n in found.nodes if n not in found.done and not self._is_alive(n)]
        if gone:
            return f"machine {', '.join(gone)} is gone"
        if len(found.members) < self.largest and any(self._is_alive(n) for n in found.waiting):
            return "another machine waits"
        return ""

    def open_next(self, failed: bool) -> None:
        """Begin the next round, unless another machine has.

        Args:
            failed: whether that is for a failure, of which there may be so many.

        Raises:
            Closed: there have been as many.
        """
        number = self.current.number
        gone = [n for n in self.current.nodes if not self._is_alive(n)]
        left = [n for n in self._read().waiting if self._is_alive(n)]
        lost = failed or bool(gone)

        def begin(found: Round) -> bool:
            if found.number != number or found.over:
                return False
            if lost and found.restarts >= self.restarts:
                found.over = "processes failed more often than --max-restarts allows"
                return True
            known = [n for n in found.nodes if n not in gone]
            found.number, found.complete = number + 1, False
            found.expected = [*known, *[n for n in left if n not in known]]
            found.members, found.waiting, found.done = {}, [], []
            found.restarts += lost
            return True

        found = self._change(begin)
        if found.over:
            raise Closed(found.over == "succeeded", found.over)

    def place(self, address: str, port: int) -> Place:
        """This machine's processes in the round, which meet where the first machine says.

        Args:
            address, port: what this one would say.

        Raises:
            DistStoreError: the first machine has said nothing.
        """
        found = self.current
        key, nodes = f"place/{found.number}", found.nodes
        if nodes[0] == self.name:
            self.store.set(key, f"{address} {port}")
        address, chosen = self.store.get(key).decode().split()
        return Place(
            nodes.index(self.name), [found.members[n] for n in nodes], address, int(chosen)
        )

    # --- the end -----------------------------------------------------------------------------

    def close(self, why: str) -> None:
        """The job is over for all machines.

        Args:
            why: "succeeded", or what went wrong.

        Raises:
            Closed: always.
        """

        def end(found: Round) -> bool:
            found.over = found.over or why
            return True

        found = self._change(end)
        raise Closed(found.over == "succeeded", found.over)

    def finish(self) -> None:
        """This machine's processes have ended well: wait for the others'; return for a new round.

        Raises:
            Closed: all have.
        """

        def mark(found: Round) -> bool:
            fits = found.number == self.current.number and self.name not in found.done
            if fits:
                found.done.append(self.name)
            return fits

        self._change(mark)
        while True:
            found = self._read()
            if found.number != self.current.number:
                return
            if set(found.done) >= set(found.members):
                self.close("succeeded")
            if any(n not in found.done and not self._is_alive(n) for n in found.nodes):
                self.open_next(failed=True)
            time.sleep(_PAUSE)

    def leave(self, keeps_store: bool) -> None:
        """Tell that this machine goes; the one that keeps the store goes last."""
        self._ended.set()
        self._beating.join(self.timing.patience)  # a sign of life would come after the end
        with contextlib.suppress(DistNetworkError):
            self.store.set(f"alive/{self.name}", b"left")
            if keeps_store:
                found = self._change(lambda _: False)
                others = {*found.members, *found.waiting} - {self.name}
                end = time.monotonic() + self.timing.patience
                while any(map(self._is_alive, others)) and time.monotonic() < end:
                    time.sleep(_PAUSE)
