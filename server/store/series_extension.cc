// The loadable extension normlab_sqlite.so: scalar(), profile() and summary() in the `sqlite3`
// shell
// (.load ./normlab_sqlite) and in Python (connection.load_extension("./normlab_sqlite")).
#include <sqlite3ext.h>

#include "server/store/series_functions.h"

extern "C" {

SQLITE_EXTENSION_INIT1

// SQLite derives this name from the file's.
__attribute__((visibility("default"))) int sqlite3_normlabsqlite_init(
    sqlite3* db, char**, const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api);
  return normlab::server::RegisterSeriesFunctions(db);
}

}  // extern "C"
