// What plain.h is compiled for; it holds nothing of its own.
