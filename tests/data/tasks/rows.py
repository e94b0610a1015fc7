"""Questions in the columns of the published data sets, written for the tests: oddities that occur there, and some that
could."""

HELLASWAG = ("ind", "activity_label", "ctx_a", "ctx_b", "ctx", "endings", "source_id", "split", "split_type", "label")
MATHQA = ("Problem", "Rationale", "options", "correct", "annotated_formula", "linear_formula", "category")
ARC = ("id", "question", "choices", "answerKey")


def hellaswag_row(ind, split, label, activity, ctx_a, ctx_b, endings):
    ctx = ctx_a if not ctx_b else f"{ctx_a} {ctx_b}"
    return dict(zip(HELLASWAG, (ind, activity, ctx_a, ctx_b, ctx, endings, f"activitynet~v_{ind:04d}", split, "indomain",
                                label)))


def hellaswag(split):
    rows = {
        "train": [
            ("3", "Removing ice from car", "A man sweeps snow off a windshield.", "then",
             [", he wipes the roof.", ", a dog drives away.", ", the snow sings.", ", he scrapes the ice off."]),
            ("0", "Baking bread", "[header] How to bake bread [title] Mix the dough. [step] Use warm water.", "",
             ["[title] Let it rise. [step] Cover it.", "[title] Eat the bowl.", "[title] Run [substeps] far.", "No."]),
            ("1", "Playing harmonica", "A boy sits on a step.", "he", ["walks.", "plays a tune.", "melts.", "is a step."]),
            ("2", "Sailing", "Two sailors raise a sail.", "the WIND", ["stops.", "is red.", "fills it.", "eats it."]),
            ("0", "Home and Garden", "[header] How to prune roses [title] Wait for spring.", "",
             ["Cut above a bud. [substeps] Use clean shears.", "Paint them.", "Ask the bees [step] .", "Boil [a] [b] ."]),
            ("3", "Knitting", "A woman shows her needles.", "she", ["swims.", "sleeps.", "flies.", "knits a row."]),
            ("1", "Clean and jerk", "An athlete chalks his hands.", "he", ["sings.", "lifts the bar.", "reads.", "rains."]),
            ("2", "Canoeing", "People paddle  on   a lake.", "they", ["fly.", "cook.", "reach the shore.", "burn."]),
            ("0", "Youth", "[header] How to make a friend [title] Smile.", "", ["Say hello.", "Hide.", "Bark.", "Leave."]),
        ],
        "validation": [
            ("3", "Roof shingle removal", "A man is sitting on a roof.", "he",
             ["is using wrap to wrap a pair of skis.", "is ripping level tiles off.", "is holding a rubik's cube.",
              "starts pulling up roofing on a roof."]),
            ("1", "Finance and Business", "[header] How to save money [title] Keep a list. [step] Write down what you spend .",
             "", ["[substeps] Throw the list away.", "[substeps] Look at it each week. [title] Spend less.",
                  " [title] Buy more [step]  lists. ", "Forget it [header] ."]),
            ("0", "  Cutting the grass ", " A lady  mows [x]  the lawn", "SHE Turns, éCLAIR in Hand [step",
             ["and  goes   on.", "[a [b] c] stops.", "] sings [", "\u00a0rests\u3000"]),
            ("2", "Travel", "A map of ÉCOLE and İSTANBUL hangs", "ÎLE D'İZMİR, ΟΔΟΣ and ΣΑΣ ΑΣ. Σ",
             ["is old.", "is torn.", "shows the way to Straße 5.", "is \"new\"\\."]),
            ("3", "Waxing skis", "[header] How\nto wax [open\nclosed] skis [title]  Clean them", "ßtart ﬁrst ŉ",
             ["a\nb [c\nd] e", "[title]x", " [title]", "Warm the wax, then rub it in \u2014 twice \U0001f3bf."]),
            ("1", "Having an ice cream", "a", "b", ["[1][2][3]x", "  two  spaces  ", "tab\tbed", "end."]),
        ],
    }
    made = [hellaswag_row(i, split, *row) for i, row in enumerate(rows[split])]
    # A question that stands among the shots several times, so that too few are left where it is asked.
    return made if split == "validation" else made + 4 * hellaswag("validation")[-1:]


def mathqa(split):
    rows = {
        "train": [
            ("the sum of two numbers is 10 and one is 4 . find the other .", "a ) 4 , b ) 5 , c ) 6 , d ) 7 , e ) 8", "c"),
            ("a train of 1 , 200 m passes a pole in 60 sec . its speed ?",
             "a ) 20 m / s , b ) 1 , 200 m / s , c ) 60 m / s , d ) 2 , 000 m / s , e ) none of these", "a"),
            ("what is 15 % of 80 ?", "a ) 10 , b ) 11 , c ) 12 , d ) 13 , e ) 14", "c"),
            ("how long is 90 min in hours ?",
             "['a ) 1.5 hours', 'b ) 1.75 hours', 'c ) 2 hours', 'd ) 2.5 hours', 'e ) 3 hours']", "a"),
            ("the area of a square is 49 . its side ?", "a ) 5 , b ) 6 , c ) 7 , d ) 8 , e ) 9", "c"),
            ("3 men dig a ditch in 6 days . 9 men need ?", "a ) 1 day , b ) 2 days , c ) 3 days , d ) 4 days , e ) 5 days", "b"),
            ("rs . 800 at 5 % simple interest for 2 years gives ?",
             "a ) rs . 40 , b ) rs . 60 , c ) rs . 80 , d ) rs . 90 , e ) rs . 100", "c"),
        ],
        "test": [
            ("a shopkeeper sold an article offering a discount of 5 % and earned a profit of 31.1 % .",
             "a ) 38 , b ) 27.675 , c ) 30 , d ) data inadequate , e ) none of these", "a"),
            ("what is the average of 1 , 000 and 3 , 000 ?",
             "a ) 1 , 000 , b ) 2 , 000 , c ) 3 , 000 , d ) 4 , 000 , e ) 5 , 000", "b"),
            ("the ratio a : b is 2 : 3 ( a ) or ( b ) ?", "a ) side a ) 2 , b ) b ) 3 , c ) a , b , d ) d , , e ) e ) 5 , ,", "d"),
            ("if x \u2260 0 and \u221ax = 3 , x = ?", "a ) 3 , b ) \u221a3 , c ) 9 \u2014 nine , d ) 27 ,  , e ) 81 , ", "c"),
            ("how many ?\nlines", "a ) 1\n , b ) 2 , c ) 3 , d ) 4 , b ) 5 , e ) 6\n", "e"),
            ("which list ?", "[\"a ) one\", \"b ) two\", \"c ) three\", \"d ) four\", \"e ) five\"]", "e"),
        ],
    }
    return [dict(zip(MATHQA, (problem, "\"because .\"", options, correct, "add(n0,n1)", "add(n0,n1)|", "general")))
            for problem, options, correct in rows[split]]


def arc_easy(split):
    rows = {
        "train": [(f"Which number follows {i}?", [str(i + 2), str(i + 1), str(i)], ["1", "2", "3"], "2") for i in range(6)],
        "test": [
            ("Which of these is a metal?", ["iron", "wood", "glass", "wool"], ["A", "B", "C", "D"], "A"),
            ("What do plants take from the air?", ["carbon dioxide", "gold", "salt"], ["1", "2", "3"], "1"),
            ("Which star is nearest?", ["Sirius", "Vega", "Rigel", "Polaris", "the Sun"], ["A", "B", "C", "D", "E"], "E"),
        ],
    }
    return [dict(zip(ARC, (f"{split}_{i}", question, {"text": text, "label": label}, key)))
            for i, (question, text, label, key) in enumerate(rows[split])]
