"""One process fails: the others learn which and why, and nobody waits for ever.

Processes tell each other over the mesh, under a group of its own: that they have failed, with
their traceback; that they leave in order; and, when somebody has waited for too long, where they
are.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from mindtorch import traceback_filtering

from . import _waits

if TYPE_CHECKING:
    from ._mesh import Mesh

CONTROL = 0xFFFFFFFF
FAILED, LEAVING, ASK, ANSWER, ASK_WAITS, STUCK = range(6)

# How long a process goes on after another has failed, and how long one may think of its answer.
GRACE = 5.0
# How long one waits before it asks the others whether they wait in another operation.
PATIENCE = 4.0
_ANSWER_TIME = 1.0


def tell_peers(mesh: Mesh, tag: int, text: str, peers: list[int] | None = None) -> None:
    """Send a control message to all peers that are still there; one that is not is passed over."""
    for peer in list(mesh.peers) if peers is None else peers:
        # one that has left in order has closed its own side only, and still listens
        if peer not in mesh.lost or peer in mesh.left:
            with contextlib.suppress(RuntimeError):
                mesh.send(peer, CONTROL, tag, text.encode())


def heard(mesh: Mesh, peer: int, tag: int, text: str) -> None:
    """A control message of ``peer`` has arrived; called by the thread that reads it."""
    if tag == ASK:
        group = int(text)
        begun, call = _own_place(mesh, group)
        place = f"{begun}\n{call}\n{stack_of_main_thread()}"
        tell_peers(mesh, ANSWER, place, [peer])
        return
    if tag == ASK_WAITS:
        tell_peers(mesh, ANSWER, _waits.told_of(mesh), [peer])
        return
    with mesh.changed:
        if tag == ANSWER:
            mesh.answers[peer] = text
        elif tag == STUCK:
            key, told = json.loads(text)
            mesh.cycles[key] = told
        elif tag == LEAVING:
            mesh.left.add(peer)
        else:
            mesh.lost[peer] = f"rank {peer} failed:\n{text}"
        mesh.changed.notify_all()
    if tag == FAILED:
        end_soon(mesh, f"rank {peer} failed:\n{text}")


def stack_of_main_thread() -> str:
    """Where the main thread is, as a traceback shows it."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return "".join(traceback.format_stack(frame)) if frame is not None else ""


def timed_out(mesh: Mesh, peers: list[int], group: int, seconds: float) -> RuntimeError:
    """The error of having waited too long for ``peers``: which are late, and where they are."""
    found = _ask(mesh, peers, group)
    mesh.silent.update(set(peers) - found.keys())
    own = operations_begun(mesh, group)
    late = [p for p in peers if p not in found or found[p].begun < own]
    lines = [
        f"Timed out waiting {int(seconds * 1000)}ms for recv operation to complete",
        f"rank {mesh.rank} waits in {last_operation(mesh, group)}",
    ]
    for peer in late or peers:
        if peer in found:
            answer = found[peer]
            lines.append(
                f"rank {peer} has begun {answer.begun} operations of group {group}, this rank "
                f"{own}; its last one is {answer.call}; rank {peer} is here:\n{answer.stack}"
            )
        else:
            lines.append(f"rank {peer} does not answer: it has stopped or is in native code")
    return RuntimeError("\n".join(lines))


class _Answer(NamedTuple):
    """Where a process is.

    Args:
        begun: how many operations of the group it has begun.
        call: the last one of them.
        stack: of its main thread.
    """

    begun: int
    call: str
    stack: str


def _own_place(mesh: Mesh, group: int) -> tuple[int, str]:
    """How many operations of a group this process has begun, and the last one."""
    begun, call, subject = mesh.doing.get(group, (0, ("nothing",), ""))
    text = text_of(call)
    return begun, f"{text} ({subject})" if subject else text


def text_of(call: tuple[Any, ...]) -> str:
    """An operation as errors name it."""
    return f"{call[0]} of {call[1]} {call[2]}" if len(call) == 3 else str(call[0])


def operations_begun(mesh: Mesh, group: int) -> int:
    """How many operations of a group this process has begun."""
    found = mesh.doing.get(group)
    return 0 if found is None else found[0]


def last_operation(mesh: Mesh, group: int) -> str:
    """The last operation of a group that this process has begun: "all_gather of 8 float32"."""
    return _own_place(mesh, group)[1]


def key_of(mesh: Mesh, group: int) -> str:
    """The same in all processes that are in this operation of a group."""
    return f"{group} {operations_begun(mesh, group)} {last_operation(mesh, group)}"


def check_same(mesh: Mesh, ranks: list[int], group: int) -> None:
    """Raise if another process has begun as many operations of the group, and another one last."""
    own = _Answer(*_own_place(mesh, group), "")
    found = _ask(mesh, [r for r in ranks if r != mesh.rank], group)
    if any(a.begun == own.begun and a.call != own.call for a in found.values()):
        raise mismatched(mesh, ranks, group, found)


def mismatched(
    mesh: Mesh, ranks: list[int], group: int, found: dict[int, _Answer] | None = None
) -> RuntimeError:
    """The error of processes that are in different operations of a group."""
    found = _ask(mesh, [r for r in ranks if r != mesh.rank], group) if found is None else found
    found = {mesh.rank: _Answer(*_own_place(mesh, group), ""), **found}
    places: dict[str, list[int]] = {}
    for rank in sorted(found):
        places.setdefault(found[rank].call, []).append(rank)
    told = ", ".join(
        f"{'ranks' if len(who) > 1 else 'rank'} {', '.join(map(str, who))} "
        f"{'wait' if len(who) > 1 else 'waits'} in {call}"
        for call, who in places.items()
    )
    lines = [f"processes are in different operations of group {group}: {told}"]
    lines += [
        f"rank {rank} has begun {a.begun} operations; it is here:\n{a.stack}"
        for rank, a in found.items() if a.stack
    ]  # fmt: skip
    return RuntimeError("\n".join(lines))


def check_cycle(mesh: Mesh, wait: _waits.Wait) -> None:
    """Raise if this process and others wait for each other in different operations, and have the
    others raise, too."""

    def ask(peers: list[int]) -> dict[int, str]:
        return _answers(mesh, [p for p in peers if p in mesh.peers], ASK_WAITS, "")

    text, keys = _waits.cycle_of(mesh, wait, ask)
    for rank, key in keys.items():
        if rank != mesh.rank:
            tell_peers(mesh, STUCK, json.dumps([key, text]), [rank])
    if text:
        raise RuntimeError(text)


def _ask(mesh: Mesh, peers: list[int], group: int) -> dict[int, _Answer]:
    """Where the peers are, of those that answer."""
    told = {
        p: text.split("\n", 2) for p, text in _answers(mesh, peers, ASK, str(group)).items()
    }
    return {p: _Answer(int(count), call, stack) for p, (count, call, stack) in told.items()}


def _answers(mesh: Mesh, peers: list[int], tag: int, text: str) -> dict[int, str]:
    """What the peers answer, of those that do; one thread asks at a time."""
    with mesh.asking:
        with mesh.changed:
            for peer in peers:
                mesh.answers.pop(peer, None)
        tell_peers(mesh, tag, text, peers)
        end = time.monotonic() + _ANSWER_TIME
        with mesh.changed:
            while any(p not in mesh.answers and p not in mesh.lost for p in peers):
                left = end - time.monotonic()
                if left <= 0:
                    break
                mesh.changed.wait(left)
            return {p: mesh.answers[p] for p in peers if p in mesh.answers}


def end_soon(mesh: Mesh, why: str) -> None:
    """End this process unless it notices by itself, within the grace, that the job is over."""
    if mesh.closed or mesh.failed:
        return
    sys.stderr.write(_prefixed(mesh.rank, why.partition("\n")[0]))

    def end() -> None:
        time.sleep(GRACE)
        if mesh.closed or mesh.failed:
            return
        text = f"this process was ended, because {why}\nit was here:\n{stack_of_main_thread()}"
        write_report(text)
        sys.stderr.write(_prefixed(mesh.rank, text))
        sys.stderr.flush()
        end_in_order()
        os._exit(1)

    threading.Thread(target=end, name="end of the job", daemon=True).start()


# Reads until the other end is closed: a process that is killed has written nothing before.
_WATCHER = "import os, sys; sys.stdin.buffer.read() or os.write(2, sys.argv[1].encode())"
_watched: list[int] = []


def watch_own_end(rank: int) -> None:
    """Have it told that this process was killed: mpiexec then kills the others before they can.

    The one who tells is a small process in a session of its own, which mpiexec leaves alone.
    """
    if _watched:
        return
    reading, writing = os.pipe()
    text = f"[rank{rank}]: rank {rank} (process {os.getpid()}) was killed\n"
    subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _WATCHER, text], stdin=reading,
        stdout=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    os.close(reading)
    _watched.append(writing)


def end_in_order() -> None:
    """This process ends without having been killed."""
    for end in _watched:
        with contextlib.suppress(OSError):
            os.write(end, b".")


def announce(mesh: Mesh | None, text: str) -> None:
    """This process is failing: tell its peers, once."""
    if mesh is None or mesh.failed or mesh.closed:
        return
    mesh.failed = True
    tell_peers(mesh, FAILED, text)


def tell_current(error: BaseException) -> None:
    """The function of a spawned process has raised: tell the others, where there are any."""
    if isinstance(sys.excepthook, ExceptHook):
        text = traceback_filtering.format_exception(type(error), error, error.__traceback__)
        announce(sys.excepthook.mesh, text)


def _prefixed(rank: int, text: str) -> str:
    return "".join(f"[rank{rank}]: {line}\n" for line in text.rstrip("\n").split("\n"))


def write_report(text: str) -> None:
    """Leave the traceback where the launcher looks for it; the first one counts."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if path and not os.path.exists(path):
        with contextlib.suppress(OSError), open(path, "x") as file:
            json.dump({"message": {"message": text, "extraInfo": {"py_callstack": text,
                      "timestamp": str(int(time.time()))}}}, file)  # fmt: skip


def _install(hook: Callable[..., Any]) -> None:
    """Let the interpreter call ``hook`` for exceptions that nobody catches."""
    sys.excepthook = hook


class ExceptHook:
    """``sys.excepthook`` while there is a group: lines carry the rank, peers get the traceback."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.before = sys.excepthook
        _install(self)

    def __call__(
        self, kind: type[BaseException], error: BaseException, where: TracebackType | None
    ) -> Any:
        text = traceback_filtering.format_exception(kind, error, where)
        if issubclass(kind, Exception):
            write_report("".join(traceback.format_exception(kind, error, where)))
            announce(self.mesh, text)
        if self.before not in (sys.__excepthook__, traceback_filtering.excepthook):
            return self.before(kind, error, where)
        sys.stderr.write(_prefixed(self.mesh.rank, text))
        return None

    def remove(self) -> None:
        """Put the earlier hook back, unless somebody has put another one in front."""
        if sys.excepthook is self:
            _install(self.before)
