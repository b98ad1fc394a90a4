"""The office's sheet: CSV with semicolons, dates as DD.MM.YYYY."""

import csv
from datetime import date, datetime
from pathlib import Path

from berths.stays import Stay

COLUMNS = ["booking", "berth", "boat", "arrive", "depart"]
DATE_FORMAT = "%d.%m.%Y"


def load(path: Path) -> list[Stay]:
    with path.open(encoding="utf-8", newline="") as sheet:
        return [
            Stay(row["booking"], row["berth"], row["boat"], _day(row["arrive"]), _day(row["depart"]))
            for row in csv.DictReader(sheet, delimiter=";")
        ]


def save(path: Path, stays: list[Stay]) -> None:
    with path.open("w", encoding="utf-8", newline="") as sheet:
        writer = csv.writer(sheet, delimiter=";", lineterminator="\n")
        writer.writerow(COLUMNS)
        for stay in stays:
            days = (stay.arrive.strftime(DATE_FORMAT), stay.depart.strftime(DATE_FORMAT))
            writer.writerow([stay.booking_id, stay.berth, stay.boat, *days])


def _day(text: str) -> date:
    return datetime.strptime(text, DATE_FORMAT).date()
