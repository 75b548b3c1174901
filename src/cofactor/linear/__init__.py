"""Linear models of views of the samples: they guess labels for a fit and predict after it.

    data ──► view ──► parts ─────────────────► pool ─────────► head
             how      naive Bayes (with EM)    weights of      the features' part
             models   softmax regression       the parts,      of every prediction,
             see the  labels spread over       from held-out   beside the topics
             samples  neighbours               labels          (cofactor.estimators)
                                                 │
                                                 └──► guess: labels of unlabelled samples,
                                                      for the start and the targets of a fit

There may be further views, of what is known of samples beside their features ("side"). Each has its
parts and its penalty, and the pool weighs the parts of all views together.

Several labels per sample (one logistic regression each) and numbers (two ridge regressions) go from
the view to the head without a pool.

views.py        views, and the matrix of samples that a view shows
parts.py        linear models and their labels; the parts of a view
axes.py         principal axes of a view, for cells
pool.py         the weighted sum of the parts of all views; expected scores
familiar.py     labelled samples that new ones are compared with: which are unlike their class
guess.py        guesses of unlabelled samples
multilabel.py   several labels per sample: regressions and thresholds
numbers.py      numbers: ridge regressions
corrections.py  what further labels change in an updated model
calibration.py  scores become probabilities that hold for new samples
penalties.py    regularisation strengths
folds.py        which samples are held out; distinct samples, ordered by content
lbfgs.py        the optimiser of all regressions

view        the samples as linear models see them: unit rows, or standardised columns
side        what is known of samples beside their features: vectors from outside, such as those
            of an encoder of texts, and further features
part        one linear model of a view
pool        the parts, weighted by how well they predict held-out labels
head        what predicts: the features' part and the topics' part, added up
share       part of a sample that belongs to a class; the shares of a sample sum to one
count       how often a sample counts (sample weights); a repeated sample counts twice
importance  weight of a label by its class (``class_weight``)
base        the score of a sample without features
"""
