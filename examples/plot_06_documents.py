"""
Short documents
===============

A multinomial mixture clusters a matrix of word counts and finds the number of topics. Each topic has characteristic
words, and each document has a probability for its topic.
"""

# %%
# Messages
# --------
# Four hundred short messages on five subjects; half of the words of a message are common words.

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import hashmix as hm

subjects = {
    "kitchen": "oven pan recipe butter flour salt knife dinner onion garlic bake spoon",
    "garden": "soil seed rose water spade lawn tree bloom compost weed tomato sun",
    "travel": "train hotel ticket map airport beach luggage tour museum bus passport view",
    "computer": "screen keyboard file network update password printer mouse cloud backup disk error",
    "music": "guitar song band drum concert melody piano singer record chorus tune stage",
}
common = ["today", "good", "new", "time", "people", "thing", "day", "week", "please", "thanks", "look", "great"]
rng = np.random.default_rng(0)
names, words = list(subjects), [text.split() for text in subjects.values()]
y = rng.integers(5, size=400)
texts = [" ".join([*rng.choice(words[subject], 5), *rng.choice(common, 5)]) for subject in y]
print(texts[0])

# %%
# The fit
# -------

vectorizer = CountVectorizer()
counts = vectorizer.fit_transform(texts)
model = hm.SplitMergeMixture("multinomial", random_state=0).fit(counts)
print(f"{model.n_clusters_} topics")

# %%
# What the topics are about
# -------------------------
# Lift is the frequency of a word in the cluster, relative to its frequency in all documents. If words are sorted by
# lift, common words disappear from the top.

topics = model.top_words(5, by="lift", feature_names=vectorizer.get_feature_names_out())
for topic in topics:
    print(", ".join(word.name for word in topic))

hm.plot.words(topics, np.bincount(model.labels_), n_clusters=6)

# %%
# A new message
# -------------

new = vectorizer.transform(["please look at the guitar on the stage", "bake the tomato with butter and put soil on the lawn"])
for probabilities in model.predict_proba(new):
    print(probabilities.round(2))

# %%
# The second message has three words about gardens and two about kitchens. A mixture assigns a document to one cluster:
# the one that explains its words better. A topic model would divide the document between the two.
