"""Linear models of the features that guess and predict labels.

matrix.py       samples, dense or sparse, and their products
views.py        which form of the data the models see
rows.py         distinct samples in an order that follows from their content
linear.py       the form of all models, and the labels they are fitted to
naive_bayes.py  naive Bayes, alone and with expectation maximisation
regression.py   softmax regression
neighbours.py   labels spread over a graph of neighbours
pool.py         these three, weighted by how they predict held-out labels: classes
logistic.py, tags.py   one logistic regression a label, with thresholds: several labels a sample
ridge.py, numbers.py   two ridge regressions, mixed by held-out error: numbers
guess.py        guesses of unlabelled samples, for starts and targets

The models are fitted once and used twice: they guess the unlabelled samples for the class-wise
start, and they are the features' part of the pooled head (`cofactor.estimators.heads`).
"""
