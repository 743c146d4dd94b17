
import copy
import json
import os
import pickle
import shutil
import unittest
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import layerloom

results = Path(os.environ["LAYERLOOM_RESULTS"])
EVIL = "<script>alert(1)</script>&\"'"


class Page(HTMLParser):
    """Tags in order, and the text; fails if a tag does not close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == [], self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert not any(name.startswith("on") for name, _ in attrs), attrs
        self.tags.append(tag)
        if tag not in ("img", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data}\n"


class Shown(unittest.TestCase):
    def setUp(self) -> None:
        self.study = layerloom.open(results / "study")

    def test_a_merge_shows_which_layers_are_from_which_expert(self) -> None:
        merge = self.study.merge("swahili/math-1+swh-1/default")
        self.assertEqual(merge.layers, 6)
        found = [(one.layers, one.words) for one in merge.origins]
        outside = (None, ("0.5 math-1 + 0.5 swh-1",))
        self.assertEqual(found, [((0, 1), ("swh-1",)), ((2, 4), ("math-1",)), ((5, 5), ("swh-1",)), outside])
        picture = ElementTree.fromstring(merge._repr_svg_())
        bars = [one.get("fill") for one in picture.iter("{http://www.w3.org/2000/svg}rect") if one.get("width") != "12"]
        # From the top: layer 5, layers 4 to 2, layers 1 and 0, and two halves outside.
        math, swahili = bars[1], bars[0]
        self.assertNotEqual(math, swahili)
        self.assertEqual(bars, [swahili, math, math, math, swahili, swahili, math, swahili])
        page = Page(merge._repr_html_())
        self.assertIn("svg", page.tags)
        for text in ("swahili/math-1+swh-1/default", "2–4", "mgsm_direct_sw", "exact_match,flexible-extract"):
            self.assertIn(text, page.text)
        self.assertNotIn("strict-match", page.text)

    def test_a_merge_of_an_earlier_version_says_that_its_layers_are_not_recorded(self) -> None:
        path = self.study.merge("swahili/math-1+swh-1/default").path
        provenance = json.loads(Path(path, "layerloom.json").read_text())
        del provenance["origins"]
        Path("earlier").mkdir()
        Path("earlier/layerloom.json").write_text(json.dumps(provenance))
        merge = layerloom.Merge("earlier")
        self.assertEqual(merge.origins, [])
        self.assertIn("not recorded", Page(merge._repr_html_()).text)

    def test_every_merge_of_the_study_is_shown(self) -> None:
        for row in self.study.rows("merges"):
            merge = self.study.merge(row["name"])
            ElementTree.fromstring(merge._repr_svg_())
            Page(merge._repr_html_())
            self.assertEqual(merge.method, row["method"])
            self.assertGreater(len(merge.origins), 1)

    def test_a_study_and_an_analysis_are_copied_and_pickled(self) -> None:
        study = layerloom.open(results / "study", results / "analysis")
        for one in (study, study.found[0]):
            for same in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
                self.assertEqual((type(same), repr(same)), (type(one), repr(one)))

    def test_a_study_shows_a_summary(self) -> None:
        page = Page(self.study._repr_html_())
        for text in ("25 merges (25 done), 5 references", "mgsm_direct_sw", "30 / 30", "byte_perplexity,none"):
            self.assertIn(text, page.text)
        self.assertEqual(repr(self.study), "<study study: 25 merges (25 done), 5 references>")

    def test_an_analysis_shows_its_picture(self) -> None:
        analysis = layerloom.open(results / "analysis").analysis("math-1")
        self.assertEqual(analysis._repr_svg_(), (results / "analysis/math-1.svg").read_text())
        self.assertEqual(Page(analysis._repr_html_()).tags, ["div", "img"])
        self.assertEqual(analysis.mean_mav, json.loads((results / "analysis/math-1.json").read_text())["meanMav"])

    def test_names_of_files_from_elsewhere_run_nothing(self) -> None:
        shutil.copytree(results / "study", "copy", symlinks=True)
        record = json.loads(Path("copy/experiment.json").read_text())
        merge, score = record["merges"][0], record["merges"][0]["scores"]
        score[EVIL] = score.pop("mgsm_direct_sw")
        path = Path("copy", merge["path"], "layerloom.json")
        merge["name"] = EVIL
        Path("copy/experiment.json").write_text(json.dumps(record))
        provenance = json.loads(path.read_text())
        provenance["method"] = provenance["inputs"][0]["name"] = provenance["inputs"][0]["role"] = EVIL
        provenance["origins"][0]["from"] = [EVIL]
        # It may be a link to the study's own file.
        path.unlink()
        path.write_text(json.dumps(provenance))
        study = layerloom.open("copy")
        for text in (study._repr_html_(), study.merge(EVIL)._repr_html_(), study.merge(EVIL)._repr_svg_()):
            page = Page(text)
            self.assertNotIn("script", page.tags)
            self.assertIn("<script>", page.text)
