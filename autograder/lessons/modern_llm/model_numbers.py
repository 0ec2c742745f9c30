"""Checks of `model-numbers`: parameters, and bytes of the cache."""

from autograder.judge.table import ExerciseChecks, entry, number

exercise = ExerciseChecks(checks=[
    entry("parameters", "how many parameters the model has", number(302_144, {
        366_144: "The output has no matrix of its own: the table of the embedding is counted once.",
        301_568: "The norms have weights as well: two in each layer, and one at the end.",
        302_080: "There is one more norm, after the last layer.",
        301_632: "Each layer has two norms.",
        326_720: "There are only 2 heads of keys and values, so `w_k` and `w_v` are narrower than `w_q`.",
        390_720: "The output has no matrix of its own, and `w_k` and `w_v` are narrower than `w_q`.",
        236_608: "The feed-forward network has three matrices.",
        238_144: "The embedding counts too.", 238_080: "The embedding counts too, and so does the last norm.",
        604_288: "That is the number of bytes."})),
    entry("cache_all_heads", "bytes of the cache for each position, with keys and values in every head",
          number(1024, {
              512: "Count keys and values, and 2 bytes for each number.",
              256: "Is that a single layer, or the cache as it is?", 2048: "16 bits are 2 bytes.",
              128: "Count keys and values, 2 bytes for each number, and all layers."})),
    entry("cache_grouped", "bytes of the cache for each position, as it is", number(256, {
        128: "Count keys and values, and 2 bytes for each number.", 64: "Count all four layers.",
        512: "16 bits are 2 bytes.", 1024: "As it is, only 2 heads have keys and values.",
        32: "Each of the 2 heads is 8 wide, in every layer."})),
    entry("break_even", "from how many positions on the cache is larger than the weights", number(2361, {
        2360: "At 2360 positions the cache is still a little smaller than the weights.",
        591: "That is for a cache in which every head has its own keys and values.",
        590: "That is for a cache in which every head has its own keys and values.",
        1181: "Compare bytes with bytes: each weight takes 2.",
        1180: "Compare bytes with bytes: each weight takes 2.",
        4722: "Compare bytes with bytes: each weight takes 2, not 4."})),
])
