"""Write some measurements of three cities, one of them in a broken file."""

from pathlib import Path


CITIES = {"oslo": [3, 4, 8], "rome": [12, 14, 19], "cairo": [19, 21, 26]}

for city, values in CITIES.items():
    for year in (2023, 2024):
        path = Path("data", str(year), f"{city}.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [str(value + year % 2) for value in values]
        path.write_text("\n".join(lines), encoding="utf-8")
Path("data", "2024", "rome.txt").write_text("12\nfourteen\n19", encoding="utf-8")
