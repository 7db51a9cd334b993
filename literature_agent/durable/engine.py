"""The engine of this process: DBOS over a SQLite file, or over PostgreSQL for many workers."""

from __future__ import annotations

import asyncio
import logging
import re
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import sqlalchemy as sa
from dbos import DBOS, DBOSConfig
from dbos._utils import retriable_postgres_exception, retriable_sqlite_exception
from pydantic_ai.models import Model

from literature_agent.durable.records import SCHEMA, DatabaseError, RecordSerializer, no_pickles
from literature_agent.durable.runs import DurableRuns
from literature_agent.durable.workers import BEAT_S, LEASE_S, Workers, new_executor_id
from literature_agent.errors import ConfigurationError, reason_of
from literature_agent.settings import Settings

APP = "literature-agent"
VERSION = f"{APP}-records-{SCHEMA}"
"""Names the code that may take up a run: runs are resumed by workers whose steps are the same."""
SCHEMA_NAME = "literature_agent"
_CONNECT_S = 5
_LISTEN_S = 0.1
_LOCKED_S = 30
"""As long as the engine itself waits for others that write to the same SQLite file."""
_SAY_AGAIN_S = 60.0


def version_for(papers: str) -> str:
    """The version of runs whose papers that option of the command line chooses; none: the real services.

    No question about real papers is answered from invented ones, nor the other way round: to a worker and to `resume`,
    runs over other papers are runs of another version.
    """
    return f"{VERSION} {papers}".strip()


def away(why: str) -> str:
    """What people are told while the database is away; `why` as it or its driver says, in the first line."""
    first = re.sub(r"^\([\w.]+\) ", "", why.strip().partition("\n")[0])[:200].rstrip(". ")
    return f"The database of durable runs does not answer ({first}); everything waits, and nothing recorded is lost."


@contextmanager
def open_engine(
    settings: Settings,
    *,
    models: Mapping[str, Model] | None = None,
    queues: Sequence[str] = (),
    version: str = VERSION,
    register: Callable[[DurableRuns], object] | None = None,
    beat_s: float = BEAT_S,
    lease_s: float = LEASE_S,
) -> Iterator[DurableRuns]:
    """Start the engine of this process, and stop it at the end; there can be one at a time.

    Args:
        settings: `database_url` (PostgreSQL or SQLite) or a file in `cache_dir`.
        models: model objects by name.
        queues: names of the queues this process works on. A process with queues is a worker: it takes up what dead
            workers left, and what it leaves itself is taken up by others. A single run is only taken up by `resume`.
        version: of the code; runs of another version are left alone.
        register: called before the engine starts, to build durable agents and workflows of one's own.
        beat_s: between two signs of life of this process.
        lease_s: silence after which a worker is taken for dead.

    Raises:
        ConfigurationError: the address is of no database that can be used, or this process has an engine already.
        DatabaseError: the database does not answer.
    """
    address = database_address(settings)
    probe(address)
    executor_id = new_executor_id()
    config: DBOSConfig = {
        "name": APP,
        "system_database_url": address,
        "serializer": RecordSerializer(),
        "application_version": version,
        "executor_id": executor_id,
        "dbos_system_schema": SCHEMA_NAME,
        "log_level": "WARNING",
        "enable_otlp": False,
        "use_listen_notify": False,
        # Only the end waits for it: a second, were it left alone.
        "notification_listener_polling_interval_sec": _LISTEN_S,
        # A lost connection is found out by what is asked next, and that is asked again: asking before each is one more
        # way to the database and back, twice for each step.
        "db_engine_kwargs": {"pool_pre_ping": False},
    }
    engine = engine_of(address)
    workers = Workers(engine, executor_id, version, bool(queues), DBOS._recover_pending_workflows, beat_s, lease_s)
    with no_pickles(), quiet():
        dbos = DBOS(config=config)
        try:
            runs = DurableRuns(settings, models=models, engine=engine)
            if register is not None:
                register(runs)
            DBOS.listen_queues(queues)
            workers.enter()
            DBOS.launch()
            sa.event.listen(dbos._sys_db.engine, "handle_error", _know_the_lost)
            workers.start()
            yield runs
        finally:
            workers.stop()
            DBOS.destroy(destroy_registry=True)
            _give_back_threads()
            workers.leave()
            engine.dispose()


def database_address(settings: Settings) -> str:
    """Where durable runs are kept, as SQLAlchemy takes it.

    Raises:
        ConfigurationError: DATABASE_URL is no address of a database, or of one of another kind.
    """
    if settings.database_url is None:
        return f"sqlite:///{settings.cache_dir / 'durable' / 'runs.sqlite'}"
    given = settings.database_url.get_secret_value().strip()
    kind, _, rest = given.partition(":")
    if kind.partition("+")[0] in ("postgresql", "postgres"):
        given = f"postgresql+psycopg:{rest}"
    try:
        url = sa.make_url(given)
    except (sa.exc.ArgumentError, ValueError):
        url = None
    backend = None if url is None else url.get_backend_name()
    if url is None or not (backend == "postgresql" or (backend == "sqlite" and url.database)):
        # What was given is not repeated: it may hold a password.
        raise ConfigurationError(
            "Setting LITERATURE_AGENT_DATABASE_URL names no database of PostgreSQL or SQLite.",
            recovery="Give postgresql://user:password@host/database, sqlite:///file, or nothing for a file of its own.",
        )
    return given


def _give_back_threads() -> None:
    """The engine lends its threads to a running event loop and takes them with it when it ends."""
    try:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
    except RuntimeError:
        return


def engine_of(address: str) -> sa.Engine:
    """A small pool of connections beside the engine's own."""
    patient = {"timeout": _LOCKED_S} if sa.make_url(address).get_backend_name() == "sqlite" else {}
    engine = sa.create_engine(address, pool_size=2, pool_pre_ping=True, connect_args=patient)
    sa.event.listen(engine, "handle_error", _know_the_lost)
    return engine


def is_away(error: sa.exc.DBAPIError) -> bool:
    """Whether the database is away or taken for now, so that what was asked can be asked again later."""
    return retriable_postgres_exception(error) or retriable_sqlite_exception(error)


def _know_the_lost(context: sa.engine.ExceptionContext) -> None:
    """A server whose socket is gone is away, too; the engine takes that for an error of the statement."""
    error = context.original_exception
    if type(error).__module__.startswith("psycopg") and "connection is bad" in str(error):
        context.is_disconnect = True


def create_tables_of_engine(address: str) -> None:
    """Make or bring up to date the engine's own tables, for who only reads or asks."""
    with quiet():
        DBOS.migrate(address, schema=SCHEMA_NAME)


def suits(python: tuple[int, ...], sqlite: tuple[int, ...]) -> bool:
    """Whether the engine can keep runs in a SQLite of that version: from Python 3.12 on it asks for milliseconds in a
    way (`unixepoch('subsec')`) that an older one answers with nothing."""
    return python[:2] < (3, 12) or sqlite >= (3, 42)


def probe(address: str) -> None:
    """Refuse at once, in words, a database that does not answer: the engine itself would wait for it for ever."""
    url = sa.make_url(address)
    if url.get_backend_name() == "sqlite":
        if not suits(sys.version_info[:2], sqlite3.sqlite_version_info):
            raise ConfigurationError(
                f"Durable runs in SQLite need SQLite 3.42 or newer with this Python; it has {sqlite3.sqlite_version}.",
                recovery="Set LITERATURE_AGENT_DATABASE_URL to a PostgreSQL, or use Python 3.11 or one with a newer"
                " SQLite.",
            )
        file = Path(url.database or "")
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with closing(sqlite3.connect(file)) as connection:
                # Kept in the file: readers do not wait for writers, and a commit is one write.
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA user_version")
        except (OSError, sqlite3.Error) as refused:
            raise DatabaseError(
                f"The file of durable runs {str(file)!r} can't be used: {reason_of(refused)}.",
                recovery="Make room or mend the folder's rights, or set LITERATURE_AGENT_DATABASE_URL.",
            ) from None
        return
    engine = sa.create_engine(url, connect_args={"connect_timeout": _CONNECT_S})
    try:
        with engine.connect():
            pass
    except sa.exc.SQLAlchemyError as refused:
        where = url.query.get("host") or url.host or "this machine"
        why = str(getattr(refused, "orig", refused)).strip().splitlines()
        raise DatabaseError(
            f"The database {url.database!r} at {where} does not answer: {why[0] if why else type(refused).__name__}.",
            recovery="Start it, or mend LITERATURE_AGENT_DATABASE_URL; what is recorded there is not lost.",
        ) from None
    finally:
        engine.dispose()


@contextmanager
def quiet() -> Iterator[None]:
    """The engine's own log stays off the screen, but for a database that is away: that is said in words."""
    logger = logging.getLogger("dbos")
    level, propagate, handlers = logger.level, logger.propagate, list(logger.handlers)
    logger.propagate, logger.handlers = False, [_InWords()]
    try:
        yield
    finally:
        logger.propagate, logger.handlers = propagate, handlers
        logger.setLevel(level)


class _InWords(logging.Handler):
    """Says that the database is away, at most once a minute; everything else ends in a typed error or a status."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said = float("-inf")

    def emit(self, record: logging.LogRecord) -> None:
        if "Database connection" not in record.getMessage() or time.monotonic() - self._said < _SAY_AGAIN_S:
            return
        self._said = time.monotonic()
        _, _, why = record.getMessage().partition("failed: ")
        logging.getLogger("literature_agent").warning(away(why.partition(". Retrying in ")[0]))
