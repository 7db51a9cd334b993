"""Citation integrity: labelled sentences, and a model that lies about everything it can."""
