from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from drlh import DRLH
from drlh.evaluate import mean_average_precision

X, y = load_digits(return_X_y=True)
X_database, X_query, y_database, y_query = train_test_split(X, y, test_size=500, random_state=0)

hasher = DRLH(n_bits=32, random_state=0).fit(X_database, y_database)
query, database = hasher.transform(X_query), hasher.transform(X_database)
print(query[0])
print(f"mAP {mean_average_precision(query, y_query, database, y_database):.3f}")
