"""Texts as counts of words."""

from __future__ import annotations

from collections.abc import Sequence

from scipy.sparse import csr_matrix

__all__ = ["count_words"]

#: Texts above which a word must occur in two of them.
_MANY_TEXTS = 100
#: Two letters or more; digits and underscores end a word.
_WORD = r"(?u)(?<![^\W\d_])[^\W\d_]{2,}"


def count_words(texts: Sequence[str]) -> tuple[csr_matrix, list[str], str]:
    """Count the words of texts with scikit-learn's CountVectorizer.

    Words are lower case and have two letters or more. English stop words are left out, and so are words of a single text if
    there are more than 100 texts.

    Parameters
    ----------
    texts : sequence of str

    Returns
    -------
    X : csr_matrix of shape (n_texts, n_words)
    words : list of str
    note : str
        The settings, in one line.

    Examples
    --------
    >>> from hashmix.data.texts import count_words
    >>> X, words, note = count_words(["The cat and the dog", "Dog, dog, 3 dogs"])
    >>> X.toarray().tolist(), words
    ([[1, 1, 0], [0, 2, 1]], ['cat', 'dog', 'dogs'])
    >>> note
    'texts: 2, with 3 different words (lower case, two letters or more, no English stop words)'
    """
    from sklearn.feature_extraction.text import CountVectorizer

    min_df = 2 if len(texts) > _MANY_TEXTS else 1
    vectorizer = CountVectorizer(token_pattern=_WORD, stop_words="english", min_df=min_df)
    try:
        X = vectorizer.fit_transform(texts)
    except ValueError as error:
        raise ValueError(f"The texts have no words to count ({error}).") from None
    words = vectorizer.get_feature_names_out().tolist()
    how = "lower case, two letters or more, no English stop words" + (", in two texts or more" if min_df == 2 else "")
    return csr_matrix(X), words, f"texts: {len(texts)}, with {len(words)} different words ({how})"
