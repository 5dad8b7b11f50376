"""Which versions of which servables run, and how they are exchanged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from mindtorch.serving.errors import NOT_FOUND, UNAVAILABLE, ServingError
from mindtorch.serving.server.register.definition import CONFIG_FILE

from .metrics import Metrics
from .version import Limits, Version, VersionConfig
from .worker import WorkerStartError

__all__ = ["Servables", "servables_in", "version_numbers"]

logger = logging.getLogger("mindtorch.serving")


def version_numbers(folder: Path) -> list[int]:
    """The versions in a servable's folder, ascending: the names that are positive numbers. Where
    there are none, functions alone may be served, as version 1."""
    found = sorted(
        int(each.name)
        for each in folder.iterdir()
        if each.name.isascii() and each.name.isdigit() and each.name[0] != "0" and each.is_dir()
    )
    return found or [1] * (folder / CONFIG_FILE).is_file()


def servables_in(directory: Path) -> list[str]:
    """The folders that hold a `servable_config.py` or versions."""
    folders = [each for each in sorted(directory.iterdir()) if each.is_dir()]
    return [each.name for each in folders if version_numbers(each)]


class Servables:
    """All versions that run.

    Args:
        limits: what is allowed.
        metrics: where is counted.
    """

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self.limits = limits
        self.metrics = metrics
        self.running: dict[str, dict[int, Version]] = {}
        self.failed: dict[tuple[str, int], tuple[float, str]] = {}
        self._ending: set[Version] = set()
        self._removing: set[asyncio.Task[None]] = set()

    def resolve(self, name: str, number: int = 0) -> Version:
        """The version that answers a request.

        Args:
            name: the servable.
            number: its version; 0: the newest that is ready.

        Raises:
            ServingError: there is none.
        """
        versions = self.running.get(name)
        if not versions:
            raise ServingError(NOT_FOUND, f"servable {name} is not available")
        if number:
            if number not in versions:
                known = ", ".join(map(str, versions))
                text = f"servable {name} has no version {number} (it has {known})"
                raise ServingError(NOT_FOUND, text)
            return versions[number]
        for newest in sorted(versions, reverse=True):
            if versions[newest].ready:
                return versions[newest]
        return versions[max(versions)]  # its workers are starting again: the request waits

    def all(self) -> list[Version]:
        """All versions that run, by name and number."""
        named = sorted(self.running.items())
        return [versions[number] for _, versions in named for number in sorted(versions)]

    @property
    def ready(self) -> bool:
        """Whether there is something, and all of it can answer."""
        return bool(self.running) and all(version.ready for version in self.all())

    async def start(self, configs: Sequence[VersionConfig]) -> None:
        """Start versions; all or none.

        Args:
            configs: which.

        Raises:
            WorkerStartError: one cannot be loaded, or runs already.
        """
        for config in configs:
            if config.number in self.running.get(config.name, {}):
                raise WorkerStartError(f"{config.name} version {config.number} runs already")
        versions = [Version(config, self.limits, self.metrics) for config in configs]
        self._ending.update(versions)  # unless all start
        try:
            given = await asyncio.gather(*(v.start() for v in versions), return_exceptions=True)
            for each in given:
                if isinstance(each, BaseException):
                    raise each
        except Exception:
            await asyncio.gather(*(self._end(version, 0.0) for version in versions))
            raise
        self._ending.difference_update(versions)
        for version in versions:
            self.running.setdefault(version.config.name, {})[version.config.number] = version
            logger.info("servable %s version %d is ready", version.config.name,
                        version.config.number)  # fmt: skip

    async def remove(self, name: str, number: int) -> None:
        """Lead no more requests to a version, and end it when it has answered its own.

        Args:
            name: the servable.
            number: its version.

        Raises:
            ServingError: it does not run.
        """
        version = self.resolve(name, number)
        del self.running[name][version.config.number]
        if not self.running[name]:
            del self.running[name]
        await self._end(version, self.limits.request_seconds)
        logger.info("servable %s version %d has ended", name, version.config.number)

    async def _end(self, version: Version, grace: float) -> None:
        self._ending.add(version)
        await version.stop(grace)
        self._ending.discard(version)

    async def exchange(self, config: VersionConfig) -> None:
        """Start a version, then end the others of its servable.

        Args:
            config: the version.
        """
        others = [n for n in self.running.get(config.name, {}) if n != config.number]
        if config.number not in self.running.get(config.name, {}):
            await self.start([config])
        for number in others:
            task = asyncio.get_running_loop().create_task(self.remove(config.name, number))
            self._removing.add(task)
            task.add_done_callback(self._removing.discard)

    async def follow(self, directory: Path, workers: int, all_versions: bool) -> None:
        """Make what runs what lies in a folder: new versions are started, others ended.

        Args:
            directory: the folder that holds servables.
            workers: the processes of each version.
            all_versions: whether all versions run, or the newest of each servable.
        """
        for name in servables_in(directory):
            numbers = version_numbers(directory / name)
            wanted = numbers if all_versions else numbers[-1:]
            for number in wanted:
                if number not in self.running.get(name, {}):
                    await self._try(VersionConfig(directory, name, number, workers), all_versions)
            if all_versions:
                gone = [n for n in self.running.get(name, {}) if n not in numbers]
                await asyncio.gather(*(self.remove(name, number) for number in gone))
        for name in set(self.running) - set(servables_in(directory)):
            await asyncio.gather(*(self.remove(name, n) for n in list(self.running[name])))

    async def watch(
        self, directory: Path, workers: int, all_versions: bool, seconds: float
    ) -> None:
        """:meth:`follow` again and again, without an end.

        Args:
            directory: the folder that holds servables.
            workers: the processes of each version.
            all_versions: whether all versions run, or the newest of each servable.
            seconds: between two looks; 0: none is taken.
        """
        while seconds:
            await asyncio.sleep(seconds)
            try:
                await self.follow(directory, workers, all_versions)
            except Exception:
                logger.exception("%s could not be looked through", directory)

    async def _try(self, config: VersionConfig, beside_others: bool) -> None:
        """Start a version unless it has failed since its files were last changed."""
        key = (config.name, config.number)
        changed = newest_change(config.directory / config.name)
        if self.failed.get(key, (0.0, ""))[0] == changed:
            return
        try:
            await (self.start([config]) if beside_others else self.exchange(config))
            self.failed.pop(key, None)
        except WorkerStartError as error:
            self.failed[key] = (changed, str(error))
            logger.error("servable %s version %d: %s", config.name, config.number, error)

    async def stop(self) -> None:
        """Answer what waits and end all workers, also of versions that are being started or ended.
        Whoever calls `start` is told to give up beforehand."""
        versions = {*self.all(), *self._ending}
        for version in versions:
            version.stopping = True
        grace = self.limits.grace_seconds
        await asyncio.gather(*(self._end(version, grace) for version in versions))
        self.running.clear()

    def check_alive(self, name: str, number: int) -> None:
        """Raises ServingError unless the version can answer now."""
        if not self.resolve(name, number).ready:
            raise ServingError(UNAVAILABLE, f"servable {name} has no worker that is ready")


def newest_change(folder: Path) -> float:
    """When something in a folder was last changed."""
    times: Iterable[float] = (each.stat().st_mtime for each in folder.rglob("*")
                              if "__pycache__" not in each.parts)  # fmt: skip
    return max(times, default=0.0)
