#ifndef NORMLAB_SERVER_STORE_SERIES_FUNCTIONS_H_
#define NORMLAB_SERVER_STORE_SERIES_FUNCTIONS_H_

struct sqlite3;

namespace normlab::server {

// Registers on a connection the table-valued functions
//   scalar('r37', 'train_loss')  → step, value, attempt
//   profile('r37', 'hidden_ma')  → step, depth, value
//   summary('r37', 'train_loss') → n, min, max, mean, nonfinite
// over what counts in the run's series. min, max and mean are over the finite values. A value that
// is NULL was NaN (SQL has none); infinities are REALs. An unknown run or key has no rows.
// Returns an SQLite code.
int RegisterSeriesFunctions(sqlite3* db);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_STORE_SERIES_FUNCTIONS_H_
