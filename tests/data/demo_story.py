"""The story of the demo session: what the user asks, and what the scripted model answers.

The project that it works on is `demo_project/`. The commands and edits are really carried out when the session is
recorded, so the tool results are true: the tests that fail, fail, and those that pass, pass.
"""

from typing import Any, NamedTuple


class Reply(NamedTuple):
    """One answer of the model: thoughts, text, and tool calls as (name, arguments)."""

    say: str = ""
    think: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


class Turn(NamedTuple):
    """What the user writes, and the answers until the model stops calling tools."""

    user: str
    replies: tuple[Reply, ...]


def _read(path: str) -> tuple[str, dict[str, Any]]:
    return "read", {"path": path}


def _bash(command: str) -> tuple[str, dict[str, Any]]:
    return "bash", {"command": command}


def _write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "write", {"path": path, "content": content}


def _edit(path: str, *changes: tuple[str, str]) -> tuple[str, dict[str, Any]]:
    return "edit", {"path": path, "edits": [{"oldText": old, "newText": new} for old, new in changes]}


RUN_TESTS = _bash("python3 -m unittest -v 2>&1")

DOUBLE_BOOKING = Turn(
    "Since Monday the office can't book a boat into a berth on the day another boat leaves it. The ledger says the "
    "berth is taken. It's ticket HB-142, berth B07, 14 June. Please fix it.\n\n"
    "Ground rules for everything you do here: standard library only, no new dependencies. Don't change the signature "
    "of Ledger.book(), the till program calls it. The sheet has to stay as it is, semicolons and DD.MM.YYYY dates, "
    "because the office opens it in their spreadsheet. And never touch README.md, Marta is rewriting it.",
    (
        Reply("I'll look at the project first.", calls=(_bash("ls -R . | grep -v pyc && cat docs/harbour-rules.md"),)),
        Reply(calls=(_read("berths/ledger.py"), _read("berths/stays.py"))),
        Reply("Next, the tests and the state they are in.", calls=(_read("tests/test_ledger.py"), RUN_TESTS)),
        Reply(
            "`overlaps` compares with `<=` at both ends, so the day of departure counts as taken. Before I change it "
            "I want to see whether the sheet has day visits, because those have the same date twice.",
            think="If I make the interval half-open, a stay of zero nights has no length at all and would never clash. "
            "Rule 3 says a day visit still needs a free berth. Check the data for arrive == depart rows.",
            calls=(_read("data/bookings.csv"),),
        ),
        Reply(
            "There are day visits. I'll make the comparison half-open first and see what the tests say.",
            calls=(
                _edit(
                    "berths/stays.py",
                    (
                        "one.arrive <= other.depart and other.arrive <= one.depart",
                        "one.arrive < other.depart and other.arrive < one.depart",
                    ),
                ),
                RUN_TESTS,
            ),
        ),
        Reply(
            "B07 works now, but as expected `test_two_day_visits_on_one_day_clash` fails: two stays of zero nights "
            "never overlap. A day visit has to occupy its day.",
            calls=(
                _edit(
                    "berths/stays.py",
                    ("from datetime import date\n", "from datetime import date, timedelta\n"),
                    (
                        "        return (self.depart - self.arrive).days\n",
                        "        return (self.depart - self.arrive).days\n\n"
                        "    @property\n"
                        "    def free_from(self) -> date:\n"
                        '        """The first day on which another boat may arrive; a day visit has its day to itself."""\n'
                        "        return max(self.depart, self.arrive + timedelta(days=1))\n",
                    ),
                    (
                        "one.arrive < other.depart and other.arrive < one.depart",
                        "one.arrive < other.free_from and other.arrive < one.free_from",
                    ),
                ),
                RUN_TESTS,
            ),
        ),
        Reply(
            "HB-142 is fixed, all 8 tests pass.\n\n"
            "Decision: a stay is half-open, from its arrival up to but not including its departure, because the office "
            "bills nights and rule 4 lets a boat arrive on the day another leaves. I decided against storing the "
            "departure minus one day: it would change every row of the sheet. A day visit occupies its one day "
            "(`Stay.free_from`).\n\n"
            "Changed: `berths/stays.py` only. `Ledger.book()`, the sheet and README.md are as they were."
        ),
    ),
)

WAITLIST = Turn(
    "Good. Now a waiting list. Ledger.wait(stay) puts a boat on it when its berth is taken, strictly first come, first "
    "served, at most 3 boats a berth, and a WaitlistFull exception beyond that. When a stay is cancelled, the first "
    "waiting boat that fits gets the berth. The limit goes into a constant, MAX_WAITING. "
    "Don't send e-mails to the boats: the harbour master hasn't decided on the wording, leave that open.",
    (
        Reply(
            "I'll put the list into a module of its own and keep `Ledger` as the only one that books.",
            think="cancel() has to return the cancelled stay as before; the promotion is a side effect. First that fits: "
            "in order of waiting, not the longest stay.",
            calls=(
                _write(
                    "berths/waitlist.py",
                    '"""Boats that wait for a berth, first come, first served."""\n\n'
                    "from berths.stays import Stay\n\n"
                    "MAX_WAITING = 3\n\n\n"
                    "class WaitlistFull(Exception):\n"
                    '    """As many boats as are allowed are waiting for that berth already."""\n\n\n'
                    "class Waitlist:\n"
                    "    def __init__(self) -> None:\n"
                    "        self._waiting: dict[str, list[Stay]] = {}\n\n"
                    "    def add(self, stay: Stay) -> int:\n"
                    '        """Put a stay at the end of its berth\'s list; returns its place, from 1."""\n'
                    "        waiting = self._waiting.setdefault(stay.berth, [])\n"
                    "        if len(waiting) >= MAX_WAITING:\n"
                    '            raise WaitlistFull(f"{len(waiting)} boats are waiting for {stay.berth}")\n'
                    "        waiting.append(stay)\n"
                    "        return len(waiting)\n\n"
                    "    def waiting_for(self, berth: str) -> list[Stay]:\n"
                    '        """The stays that wait for a berth, the first to come first."""\n'
                    "        return list(self._waiting.get(berth, []))\n",
                ),
                _edit(
                    "berths/ledger.py",
                    (
                        "from berths.stays import Stay, overlaps\n",
                        "from berths.stays import Stay, overlaps\nfrom berths.waitlist import Waitlist\n",
                    ),
                    (
                        "        self._stays: list[Stay] = []\n",
                        "        self._stays: list[Stay] = []\n        self.waitlist = Waitlist()\n",
                    ),
                    (
                        "                self._stays.remove(stay)\n                return stay\n",
                        "                self._stays.remove(stay)\n                self._promote(stay.berth)\n"
                        "                return stay\n",
                    ),
                    (
                        "    def stays(self) -> list[Stay]:\n",
                        "    def wait(self, stay: Stay) -> int:\n"
                        '        """Put a stay on the waiting list; returns its place, from 1."""\n'
                        "        return self.waitlist.add(stay)\n\n"
                        "    def _promote(self, berth: str) -> None:\n"
                        "        for waiting in self.waitlist.waiting_for(berth):\n"
                        "            if not any(overlaps(waiting, stay) for stay in self._stays):\n"
                        "                self._stays.append(waiting)\n"
                        "                return\n\n"
                        "    def stays(self) -> list[Stay]:\n",
                    ),
                ),
            ),
        ),
        Reply(
            "Now tests for the rules you gave: order, limit, and what happens on a cancellation.",
            calls=(
                _write(
                    "tests/test_waitlist.py",
                    "import unittest\n\n"
                    "from berths.ledger import Ledger\n"
                    "from berths.waitlist import MAX_WAITING, WaitlistFull\n"
                    "from tests.test_ledger import stay\n\n\n"
                    "class WaitlistTest(unittest.TestCase):\n"
                    "    def setUp(self):\n"
                    '        self.ledger = Ledger([stay("N-1", "B07", 10, 14)])\n\n'
                    "    def ids(self):\n"
                    "        return [s.booking_id for s in self.ledger.stays()]\n\n"
                    "    def test_first_to_come_gets_the_berth(self):\n"
                    '        self.ledger.wait(stay("N-2", "B07", 10, 12))\n'
                    '        self.ledger.wait(stay("N-3", "B07", 10, 11))\n'
                    '        self.ledger.cancel("N-1")\n'
                    '        self.assertEqual(self.ids(), ["N-2"])\n\n'
                    "    def test_first_that_fits_is_taken_if_the_first_does_not(self):\n"
                    '        self.ledger.book(stay("N-9", "B07", 14, 16))\n'
                    '        self.ledger.wait(stay("N-2", "B07", 10, 15))\n'
                    '        self.ledger.wait(stay("N-3", "B07", 10, 11))\n'
                    '        self.ledger.cancel("N-1")\n'
                    '        self.assertEqual(self.ids(), ["N-3", "N-9"])\n\n'
                    "    def test_a_boat_that_got_its_berth_waits_no_longer(self):\n"
                    '        self.ledger.wait(stay("N-2", "B07", 10, 12))\n'
                    '        self.ledger.cancel("N-1")\n'
                    '        self.assertEqual(self.ledger.waitlist.waiting_for("B07"), [])\n\n'
                    "    def test_list_has_a_limit(self):\n"
                    "        for number in range(MAX_WAITING):\n"
                    '            self.ledger.wait(stay(f"N-{number + 2}", "B07", 10, 12))\n'
                    "        with self.assertRaises(WaitlistFull):\n"
                    '            self.ledger.wait(stay("N-99", "B07", 10, 12))\n',
                ),
                RUN_TESTS,
            ),
        ),
        Reply(
            "One real bug of mine: a boat that got its berth stays on the list. It has to be taken off when it is "
            "booked.",
            calls=(
                _edit(
                    "berths/waitlist.py",
                    (
                        "    def waiting_for(self, berth: str) -> list[Stay]:\n",
                        "    def remove(self, stay: Stay) -> None:\n"
                        '        """Take a stay off the list; it has its berth, or gave up."""\n'
                        "        self._waiting[stay.berth].remove(stay)\n\n"
                        "    def waiting_for(self, berth: str) -> list[Stay]:\n",
                    ),
                ),
                _edit(
                    "berths/ledger.py",
                    (
                        "                self._stays.append(waiting)\n",
                        "                self._stays.append(waiting)\n                self.waitlist.remove(waiting)\n",
                    ),
                ),
                RUN_TESTS,
            ),
        ),
        Reply(
            "The waiting list is in, 12 tests pass. `MAX_WAITING = 3` is in `berths/waitlist.py`. Nothing sends "
            "e-mails; that stays open until the harbour master has decided on the wording. The list is not saved to "
            "the sheet, because the sheet's columns may not change: it is lost when the program ends. Tell me if it "
            "should go into a file of its own."
        ),
    ),
)

SEASON_IMPORT = Turn(
    "Keep it in memory for now. One change: the harbour master wants 5 boats on the waiting list, not 3.\n\n"
    "Then the import: the season file of the whole coast has 20000 rows and loading it takes forever. It has to be "
    "under 2 seconds on the office PC. No threads please, the PC has one core.",
    (
        Reply(
            "First the limit, then a measurement.",
            calls=(
                _edit("berths/waitlist.py", ("MAX_WAITING = 3", "MAX_WAITING = 5")),
                _write(
                    "scripts/bench_import.py",
                    '"""How long a ledger of many stays takes to load: python3 scripts/bench_import.py ROWS"""\n\n'
                    "import sys\nimport time\nfrom datetime import date, timedelta\n\n"
                    'sys.path.insert(0, ".")\n\n'
                    "from berths.ledger import Ledger  # noqa: E402\n"
                    "from berths.stays import Stay  # noqa: E402\n\n"
                    "rows = int(sys.argv[1])\n"
                    "first = date(2026, 4, 1)\n"
                    "stays = [\n"
                    '    Stay(f"N-{n}", f"P{n % 600:03d}", "Heron", first + timedelta(days=n // 600 * 3),\n'
                    "         first + timedelta(days=n // 600 * 3 + 2))\n"
                    "    for n in range(rows)\n"
                    "]\n"
                    "start = time.perf_counter()\n"
                    "Ledger(stays)\n"
                    'print(f"{rows} rows: {time.perf_counter() - start:.2f} s")\n',
                ),
                _bash("for n in 1000 2000 4000; do python3 scripts/bench_import.py $n; done"),
            ),
        ),
        Reply(
            "Twice the rows, four times the time: every booking looks at every stay. Only stays of the same berth "
            "matter, and of those only the neighbours in time, so a sorted list a berth and a binary search will do.",
            think="Stays of one berth in the ledger never overlap, so sorted by arrival only the one before and the one "
            "after can clash. bisect with key needs Python 3.10, the office has 3.11. Day visit and a stay arriving "
            "the same day: clash through free_from, fine.",
            calls=(_read("berths/ledger.py"),),
        ),
        Reply(
            calls=(
                _write(
                    "berths/ledger.py",
                    '"""The ledger: which boat is where, and when."""\n\n'
                    "from bisect import bisect_left\n"
                    "from collections.abc import Iterable\n"
                    "from datetime import date\n\n"
                    "from berths.stays import Stay, overlaps\n"
                    "from berths.waitlist import Waitlist\n\n\n"
                    "class BerthTaken(Exception):\n"
                    '    """Another boat has the berth at that time."""\n\n\n'
                    "class Ledger:\n"
                    "    def __init__(self, stays: Iterable[Stay] = ()) -> None:\n"
                    "        # The stays of a berth never overlap, so they are kept in order of arrival and only\n"
                    "        # the two neighbours of a new one can clash with it.\n"
                    "        self._berths: dict[str, list[Stay]] = {}\n"
                    "        self._by_id: dict[str, Stay] = {}\n"
                    "        self.waitlist = Waitlist()\n"
                    "        for stay in stays:\n"
                    "            self.book(stay)\n\n"
                    "    def book(self, stay: Stay) -> Stay:\n"
                    '        """Add a stay; raises BerthTaken if the berth is not free."""\n'
                    "        berth = self._berths.setdefault(stay.berth, [])\n"
                    "        place = self._place(berth, stay)\n"
                    "        for other in berth[max(place - 1, 0) : place + 1]:\n"
                    "            if overlaps(stay, other):\n"
                    '                raise BerthTaken(f"{stay.berth} is taken by {other.boat} ({other.booking_id})")\n'
                    "        berth.insert(place, stay)\n"
                    "        self._by_id[stay.booking_id] = stay\n"
                    "        return stay\n\n"
                    "    def cancel(self, booking_id: str) -> Stay:\n"
                    '        """Remove a stay and return it; raises KeyError if there is none with that id."""\n'
                    "        stay = self._by_id.pop(booking_id)\n"
                    "        self._berths[stay.berth].remove(stay)\n"
                    "        self._promote(stay.berth)\n"
                    "        return stay\n\n"
                    "    def wait(self, stay: Stay) -> int:\n"
                    '        """Put a stay on the waiting list; returns its place, from 1."""\n'
                    "        return self.waitlist.add(stay)\n\n"
                    "    def stays(self) -> list[Stay]:\n"
                    '        """All stays in order of arrival."""\n'
                    "        return sorted(self._by_id.values(), key=lambda stay: (stay.arrive, stay.berth))\n\n"
                    "    def _promote(self, berth: str) -> None:\n"
                    "        for waiting in self.waitlist.waiting_for(berth):\n"
                    "            try:\n"
                    "                self.book(waiting)\n"
                    "            except BerthTaken:\n"
                    "                continue\n"
                    "            self.waitlist.remove(waiting)\n"
                    "            return\n\n"
                    "    @staticmethod\n"
                    "    def _place(berth: list[Stay], stay: Stay) -> int:\n"
                    "        def arrival(other: Stay) -> date:\n"
                    "            return other.arrive\n\n"
                    "        return bisect_left(berth, stay.arrive, key=arrival)\n",
                ),
                _bash("for n in 4000 20000; do python3 scripts/bench_import.py $n; done; python3 -m unittest 2>&1"),
            ),
        ),
        Reply(
            "Well under the limit. A last check that it decides as the old code did: the same random bookings through "
            "both, with day visits among them.",
            calls=(
                _bash(
                    "cat > /tmp/compare.py <<'END'\n"
                    "import random, sys\nfrom datetime import date, timedelta\nsys.path.insert(0, '.')\n"
                    "from berths.ledger import BerthTaken, Ledger\nfrom berths.stays import Stay, overlaps\n"
                    "random.seed(142)\nwrong = 0\n"
                    "for round in range(300):\n"
                    "    ledger, plain = Ledger(), []\n"
                    "    for n in range(40):\n"
                    "        a = date(2026, 6, 1) + timedelta(days=random.randrange(30))\n"
                    "        s = Stay(f'N-{n}', random.choice('ABC'), 'Tern', a, a + timedelta(days=random.randrange(5)))\n"
                    "        free = not any(overlaps(s, o) for o in plain)\n"
                    "        try:\n            ledger.book(s)\n            booked = True\n"
                    "        except BerthTaken:\n            booked = False\n"
                    "        wrong += booked != free\n"
                    "        if free:\n            plain.append(s)\n"
                    "print('bookings', 300 * 40, 'decided differently', wrong)\nEND\n"
                    "python3 /tmp/compare.py; rm /tmp/compare.py"
                ),
            ),
        ),
        Reply(
            "20000 rows load in a fraction of a second, without threads, and 12000 random bookings were decided as "
            "before. `MAX_WAITING` is 5 now. I kept `scripts/bench_import.py` so that you can measure on the office PC; "
            "I have only measured here."
        ),
    ),
)

REPORT = Turn(
    "Last thing for today: an occupancy report for the council. `python3 -m berths.report data/bookings.csv --month "
    "2026-06` prints one line a berth with its nights taken and the share of the month in percent, one decimal, and a "
    "total at the end. Count nights, not days. Exit code 2 and one line on stderr if the month is not YYYY-MM. "
    "Write tests for it first.",
    (
        Reply(
            "Tests first, then.",
            think="A stay that crosses the end of the month counts only with the nights inside it. Day visits: zero "
            "nights. The share is nights / (days in month). The total: all nights / (berths x days).",
            calls=(
                _write(
                    "tests/test_report.py",
                    "import subprocess\nimport sys\nimport unittest\nfrom datetime import date\n\n"
                    "from berths.report import nights_in_month, report_lines\n"
                    "from berths.stays import Stay\n\n\n"
                    "def stay(berth, arrive, depart):\n"
                    '    return Stay("N-1", berth, "Osprey", arrive, depart)\n\n\n'
                    "class ReportTest(unittest.TestCase):\n"
                    "    def test_stay_inside_the_month_counts_all_its_nights(self):\n"
                    '        inside = stay("A01", date(2026, 6, 3), date(2026, 6, 5))\n'
                    "        self.assertEqual(nights_in_month(inside, 2026, 6), 2)\n\n"
                    "    def test_stay_across_the_end_counts_only_the_nights_in_the_month(self):\n"
                    '        across = stay("A01", date(2026, 6, 29), date(2026, 7, 3))\n'
                    "        self.assertEqual(nights_in_month(across, 2026, 6), 2)\n"
                    "        self.assertEqual(nights_in_month(across, 2026, 7), 2)\n\n"
                    "    def test_december_ends_with_the_year(self):\n"
                    '        across = stay("A01", date(2026, 12, 30), date(2027, 1, 2))\n'
                    "        self.assertEqual(nights_in_month(across, 2026, 12), 2)\n\n"
                    "    def test_day_visit_and_other_months_count_nothing(self):\n"
                    '        visit = stay("A01", date(2026, 6, 9), date(2026, 6, 9))\n'
                    "        self.assertEqual(nights_in_month(visit, 2026, 6), 0)\n"
                    '        may = stay("A01", date(2026, 5, 1), date(2026, 5, 9))\n'
                    "        self.assertEqual(nights_in_month(may, 2026, 6), 0)\n\n"
                    "    def test_lines_have_nights_share_and_a_total(self):\n"
                    '        stays = [stay("A01", date(2026, 6, 1), date(2026, 6, 16)),\n'
                    '                 stay("B02", date(2026, 6, 1), date(2026, 6, 4))]\n'
                    "        self.assertEqual(report_lines(stays, 2026, 6), [\n"
                    '            "A01      15   50.0 %", "B02       3   10.0 %", "total    18   30.0 %"])\n\n'
                    "    def test_bad_month_is_refused_in_one_line(self):\n"
                    '        command = [sys.executable, "-m", "berths.report", "data/bookings.csv", "--month", "June"]\n'
                    "        done = subprocess.run(command, capture_output=True, text=True)\n"
                    "        self.assertEqual(done.returncode, 2)\n"
                    "        self.assertEqual(len(done.stderr.splitlines()), 1)\n",
                ),
                RUN_TESTS,
            ),
        ),
        Reply(
            "They fail because there is no module yet. Now the report.",
            calls=(
                _read("berths/storage.py"),
                _write(
                    "berths/report.py",
                    '"""How much each berth is used in a month, for the council."""\n\n'
                    "import argparse\nfrom calendar import monthrange\nfrom collections import Counter\n"
                    "from datetime import date, datetime, timedelta\nfrom pathlib import Path\n\n"
                    "from berths.stays import Stay\nfrom berths.storage import load\n\n\n"
                    "def nights_in_month(stay: Stay, year: int, month: int) -> int:\n"
                    '    """The nights of a stay that begin in the month; the departure day is no night."""\n'
                    "    first = date(year, month, 1)\n"
                    "    last = date(year, month, monthrange(year, month)[1])\n"
                    "    return max((min(stay.depart, last) - max(stay.arrive, first)).days, 0)\n\n\n"
                    "def report_lines(stays: list[Stay], year: int, month: int) -> list[str]:\n"
                    '    """One line a berth, and the total."""\n'
                    "    days = monthrange(year, month)[1]\n"
                    "    nights = Counter({stay.berth: 0 for stay in stays})\n"
                    "    for stay in stays:\n"
                    "        nights[stay.berth] += nights_in_month(stay, year, month)\n"
                    "    lines = [_line(berth, nights[berth], days) for berth in sorted(nights)]\n"
                    '    return [*lines, _line("total", nights.total(), days * max(len(nights), 1))]\n\n\n'
                    "def _line(name: str, nights: int, days: int) -> str:\n"
                    '    return f"{name:<6}{nights:>5}{100 * nights / days:>7.1f} %"\n\n\n'
                    "def main() -> None:\n"
                    "    parser = argparse.ArgumentParser(description=__doc__)\n"
                    '    parser.add_argument("sheet", type=Path)\n'
                    '    parser.add_argument("--month", required=True)\n'
                    "    options = parser.parse_args()\n"
                    '    month = datetime.strptime(options.month, "%Y-%m")\n'
                    '    print("\\n".join(report_lines(load(options.sheet), month.year, month.month)))\n\n\n'
                    'if __name__ == "__main__":\n    main()\n',
                ),
                _bash("python3 -m unittest tests.test_report 2>&1"),
            ),
        ),
        Reply(
            "Two faults, both mine. The end of the month has to be the first day of the next one, else the last night "
            "is missing. And a bad month ends in a traceback.",
            calls=(
                _edit(
                    "berths/report.py",
                    (
                        "    last = date(year, month, monthrange(year, month)[1])\n"
                        "    return max((min(stay.depart, last) - max(stay.arrive, first)).days, 0)\n",
                        "    end = first + timedelta(days=monthrange(year, month)[1])\n"
                        "    return max((min(stay.depart, end) - max(stay.arrive, first)).days, 0)\n",
                    ),
                    ("import argparse\n", "import argparse\nimport sys\n"),
                    (
                        '    month = datetime.strptime(options.month, "%Y-%m")\n',
                        "    try:\n"
                        '        month = datetime.strptime(options.month, "%Y-%m")\n'
                        "    except ValueError:\n"
                        '        print(f"report: expected a month as YYYY-MM, found {options.month!r}", file=sys.stderr)\n'
                        "        sys.exit(2)\n",
                    ),
                ),
                RUN_TESTS,
            ),
        ),
        Reply(
            "All green. Now the real sheet.",
            calls=(_bash("python3 -m berths.report data/bookings.csv --month 2026-06"),),
        ),
        Reply(
            "I'll check the total by another way before it goes to the council: night by night, over every row.",
            calls=(
                _bash(
                    "python3 - <<'END'\n"
                    "from datetime import timedelta\nfrom pathlib import Path\nfrom berths.storage import load\n"
                    "nights = 0\n"
                    "for stay in load(Path('data/bookings.csv')):\n"
                    "    for n in range(stay.nights):\n"
                    "        night = stay.arrive + timedelta(days=n)\n"
                    "        nights += (night.year, night.month) == (2026, 6)\n"
                    "print('nights in June', nights)\nEND\n"
                    "python3 -m berths.report data/bookings.csv --month 2026-06 | tail -n 1; "
                    "python3 -m berths.report data/bookings.csv --month June; echo exit $?"
                ),
            ),
        ),
        Reply(
            "The report is done: `berths/report.py`, 18 tests pass, and the total agrees with a count night by night. A "
            "berth without any row in the sheet is not listed, so the share is that of the berths in use; the council "
            "should know that.\n\n"
            "Still open: the e-mails to waiting boats (the harbour master decides on the wording), the measurement of "
            "the import on the office PC, and whether winter berths belong in the report."
        ),
    ),
)

STORY = (DOUBLE_BOOKING, WAITLIST, SEASON_IMPORT, REPORT)

SYSTEM_PROMPT = (
    "You work on the berth booking program of a small marina. Read before you change something, run the tests after "
    "every change, and keep the answers short."
)
