import os
import unittest

import support
import quench

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "tests/data/earlier_store/run")


class RecordsTest(support.FileTest):
    @unittest.skipUnless(os.path.isdir(RUN), "the package is not in the source tree")
    def test_the_records_of_a_run_are_a_list_of_dicts(self):
        records = quench.records(RUN)
        self.assertEqual(len(records), 15)
        self.assertEqual(sum(record["metric"] == "quantization_error" for record in records), 6)


if __name__ == "__main__":
    unittest.main()
