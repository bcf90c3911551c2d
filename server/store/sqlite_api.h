#ifndef NORMLAB_SERVER_STORE_SQLITE_API_H_
#define NORMLAB_SERVER_STORE_SQLITE_API_H_

// SQLite's C interface for sources that are built twice: into our programs, which link SQLite, and
// into the loadable extension, which calls the SQLite of whoever loads it.
#ifdef NORMLAB_SQLITE_EXTENSION
#include <sqlite3ext.h>
extern "C" const sqlite3_api_routines* sqlite3_api;
#else
#include <sqlite3.h>
#endif

#endif  // NORMLAB_SERVER_STORE_SQLITE_API_H_
