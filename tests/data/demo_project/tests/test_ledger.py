import tempfile
import unittest
from datetime import date
from pathlib import Path

from berths.ledger import BerthTaken, Ledger
from berths.stays import Stay
from berths.storage import load, save


def stay(booking_id, berth, arrive, depart, boat="Kittiwake"):
    return Stay(booking_id, berth, boat, date(2026, 6, arrive), date(2026, 6, depart))


class LedgerTest(unittest.TestCase):
    def test_free_berth_is_booked(self):
        ledger = Ledger()
        ledger.book(stay("N-1", "A03", 3, 5))
        self.assertEqual([s.booking_id for s in ledger.stays()], ["N-1"])

    def test_same_nights_clash(self):
        ledger = Ledger([stay("N-1", "A03", 3, 6)])
        with self.assertRaises(BerthTaken):
            ledger.book(stay("N-2", "A03", 4, 5))

    def test_other_berth_does_not_clash(self):
        ledger = Ledger([stay("N-1", "A03", 3, 6)])
        ledger.book(stay("N-2", "A04", 4, 5))

    def test_arrival_on_the_day_of_departure_is_allowed(self):
        ledger = Ledger([stay("N-1", "B07", 12, 14)])
        ledger.book(stay("N-2", "B07", 14, 16))
        self.assertEqual(len(ledger.stays()), 2)

    def test_two_day_visits_on_one_day_clash(self):
        ledger = Ledger([stay("N-1", "C02", 9, 9)])
        with self.assertRaises(BerthTaken):
            ledger.book(stay("N-2", "C02", 9, 9))

    def test_day_visit_needs_a_free_berth(self):
        ledger = Ledger([stay("N-1", "C02", 8, 11)])
        with self.assertRaises(BerthTaken):
            ledger.book(stay("N-2", "C02", 9, 9))

    def test_cancel_frees_the_berth(self):
        ledger = Ledger([stay("N-1", "A03", 3, 6)])
        ledger.cancel("N-1")
        ledger.book(stay("N-2", "A03", 3, 6))

    def test_sheet_survives_a_round_trip(self):
        stays = [stay("N-1", "A03", 3, 6, boat="Sjöfågel"), stay("N-2", "B01", 9, 9)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sheet.csv"
            save(path, stays)
            self.assertEqual(load(path), stays)
            self.assertIn("N-1;A03;Sjöfågel;03.06.2026;06.06.2026", path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
