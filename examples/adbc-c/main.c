/* The ADBC driver without Python and without a driver manager: loads its library, makes a table of a record batch, reads it,
 * and, with statements to do so, shows the error that ends a stream and cancels what another thread executes.
 *
 *     cc -I "$(python -c 'import adbc_driver_manager as m; print(m.__path__[0])')/arrow-adbc" -o adbc main.c -ldl -pthread
 *     ./adbc "$(python -c 'import adbc_driver_headrace as d; print(d.library_path())')" postgresql://localhost/app
 *
 * Usage: adbc LIBRARY URI [FAILING [SLOW]]
 */

#include <adbc.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct AdbcDriver driver;

/* Ends the program with the error of a call, if it has failed. */
static void check(AdbcStatusCode status, struct AdbcError* error, const char* what) {
  if (status == ADBC_STATUS_OK) return;
  fprintf(stderr, "%s: status %d, SQLSTATE %.5s: %s\n", what, status, error->sqlstate,
          error->message ? error->message : "");
  exit(1);
}

/* Prints an error on a line, and frees it. */
static void show(const char* what, AdbcStatusCode status, struct AdbcError* error) {
  printf("%s: status %d, SQLSTATE %.5s: %s\n", what, status, error->sqlstate, error->message ? error->message : "");
  if (error->release) error->release(error);
  *error = ADBC_ERROR_INIT;
}

static void set(struct AdbcStatement* statement, const char* key, const char* value) {
  struct AdbcError error = ADBC_ERROR_INIT;
  check(driver.StatementSetOption(statement, key, value, &error), &error, key);
}

static AdbcStatusCode execute(struct AdbcStatement* statement, const char* sql, struct ArrowArrayStream* stream,
                              struct AdbcError* error) {
  AdbcStatusCode status = driver.StatementSetSqlQuery(statement, sql, error);
  return status == ADBC_STATUS_OK ? driver.StatementExecuteQuery(statement, stream, NULL, error) : status;
}

/* The memory of the batch below is the program's own, and outlives its use. */
static void release_schema(struct ArrowSchema* schema) { schema->release = NULL; }
static void release_array(struct ArrowArray* array) { array->release = NULL; }

/* A table of three rows: id int64, name string. */
static int64_t ingest(struct AdbcConnection* connection) {
  static const int64_t ids[] = {1, 2, 3};
  static const int32_t offsets[] = {0, 3, 3, 8};
  static const char texts[] = "onethree";
  static const uint8_t valid[] = {0x5}; /* The second name is null. */
  static const void *no_nulls[] = {NULL}, *id_buffers[] = {NULL, ids}, *name_buffers[] = {valid, offsets, texts};
  struct ArrowSchema id_schema = {.format = "l", .name = "id", .release = release_schema};
  struct ArrowSchema name_schema = {
      .format = "u", .name = "name", .flags = ARROW_FLAG_NULLABLE, .release = release_schema};
  struct ArrowSchema* schemas[] = {&id_schema, &name_schema};
  struct ArrowSchema schema = {
      .format = "+s", .name = "", .n_children = 2, .children = schemas, .release = release_schema};
  struct ArrowArray id = {.length = 3, .n_buffers = 2, .buffers = id_buffers, .release = release_array};
  struct ArrowArray name = {
      .length = 3, .null_count = 1, .n_buffers = 3, .buffers = name_buffers, .release = release_array};
  struct ArrowArray* arrays[] = {&id, &name};
  struct ArrowArray batch = {
      .length = 3, .n_buffers = 1, .n_children = 2, .buffers = no_nulls, .children = arrays, .release = release_array};

  struct AdbcError error = ADBC_ERROR_INIT;
  struct AdbcStatement statement = {0};
  int64_t rows = -1;
  check(driver.StatementNew(connection, &statement, &error), &error, "StatementNew");
  set(&statement, ADBC_INGEST_OPTION_TARGET_TABLE, "from_c");
  set(&statement, ADBC_INGEST_OPTION_MODE, ADBC_INGEST_OPTION_MODE_REPLACE);
  check(driver.StatementBind(&statement, &batch, &schema, &error), &error, "StatementBind");
  check(driver.StatementExecuteQuery(&statement, NULL, &rows, &error), &error, "ingest");
  check(driver.StatementRelease(&statement, &error), &error, "StatementRelease");
  return rows;
}

static void query(struct AdbcConnection* connection) {
  struct AdbcError error = ADBC_ERROR_INIT;
  struct AdbcStatement statement = {0};
  struct ArrowArrayStream stream = {0};
  struct ArrowSchema schema = {0};
  check(driver.StatementNew(connection, &statement, &error), &error, "StatementNew");
  check(execute(&statement, "select id, name from from_c order by id", &stream, &error), &error, "query");
  if (stream.get_schema(&stream, &schema) != 0) abort();
  printf("columns: %s %s, %s %s\n", schema.children[0]->name, schema.children[0]->format, schema.children[1]->name,
         schema.children[1]->format);
  schema.release(&schema);
  for (;;) {
    struct ArrowArray batch = {0};
    if (stream.get_next(&stream, &batch) != 0) abort();
    if (!batch.release) break;
    const struct ArrowArray *id = batch.children[0], *name = batch.children[1];
    const uint8_t* valid = name->buffers[0];
    const int32_t* offsets = name->buffers[1];
    for (int64_t row = 0; row < batch.length; row++) {
      int64_t at = row + name->offset;
      int is_null = valid && !(valid[at / 8] >> (at % 8) & 1);
      printf("%" PRId64 " %.*s\n", ((const int64_t*)id->buffers[1])[row + id->offset],
             is_null ? 4 : (int)(offsets[at + 1] - offsets[at]),
             is_null ? "null" : (const char*)name->buffers[2] + offsets[at]);
    }
    batch.release(&batch);
  }
  stream.release(&stream);
  check(driver.StatementRelease(&statement, &error), &error, "StatementRelease");
}

/* A stream that fails after its first batch: its error has a status and a SQLSTATE, too. */
static void failing(struct AdbcConnection* connection, const char* sql) {
  struct AdbcError error = ADBC_ERROR_INIT;
  struct AdbcStatement statement = {0};
  struct ArrowArrayStream stream = {0};
  int batches = 0, code = 0;
  check(driver.StatementNew(connection, &statement, &error), &error, "StatementNew");
  set(&statement, "headrace.batch_rows", "10");
  check(execute(&statement, sql, &stream, &error), &error, "the statement that is to fail");
  for (struct ArrowArray batch = {0}; (code = stream.get_next(&stream, &batch)) == 0 && batch.release; batches++)
    batch.release(&batch);
  AdbcStatusCode status = ADBC_STATUS_OK;
  const struct AdbcError* found = code ? driver.ErrorFromArrayStream(&stream, &status) : NULL;
  if (!found) {
    fprintf(stderr, "the stream did not fail\n");
    exit(1);
  }
  printf("stream: %s, status %d, SQLSTATE %.5s, %d details: %s\n", batches ? "after some batches" : "at once", status,
         found->sqlstate, driver.ErrorGetDetailCount(found), found->message);
  stream.release(&stream);
  check(driver.StatementRelease(&statement, &error), &error, "StatementRelease");
}

static void* cancel(void* statement) {
  /* Until there is something under way that can be cancelled. */
  for (AdbcStatusCode status = ADBC_STATUS_INVALID_STATE; status == ADBC_STATUS_INVALID_STATE;) {
    struct AdbcError error = ADBC_ERROR_INIT;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    status = driver.StatementCancel(statement, &error);
    if (error.release) error.release(&error);
  }
  return NULL;
}

static void cancelled(struct AdbcConnection* connection, const char* sql) {
  struct AdbcError error = ADBC_ERROR_INIT;
  struct AdbcStatement statement = {0};
  struct ArrowArrayStream stream = {0};
  pthread_t thread;
  check(driver.StatementNew(connection, &statement, &error), &error, "StatementNew");
  if (pthread_create(&thread, NULL, cancel, &statement) != 0) abort();
  AdbcStatusCode status = execute(&statement, sql, &stream, &error);
  pthread_join(thread, NULL);
  show("cancelled", status, &error);
  if (stream.release) stream.release(&stream);
  check(driver.StatementRelease(&statement, &error), &error, "StatementRelease");
}

int main(int count, char** arguments) {
  if (count < 3) {
    fprintf(stderr, "usage: %s LIBRARY URI [FAILING [SLOW]]\n", arguments[0]);
    return 2;
  }
  struct AdbcError error = ADBC_ERROR_INIT;
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  AdbcDriverInitFunc init = NULL;
  if (library) *(void**)&init = dlsym(library, "AdbcDriverHeadraceInit");
  if (!init) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  check(init(ADBC_VERSION_1_1_0, &driver, &error), &error, "AdbcDriverHeadraceInit");

  struct AdbcDatabase database = {0};
  struct AdbcConnection connection = {0};
  struct AdbcStatement statement = {0};
  check(driver.DatabaseNew(&database, &error), &error, "DatabaseNew");
  check(driver.DatabaseSetOption(&database, "uri", arguments[2], &error), &error, "the URI");
  check(driver.DatabaseInit(&database, &error), &error, "DatabaseInit");
  check(driver.ConnectionNew(&connection, &error), &error, "ConnectionNew");
  check(driver.ConnectionInit(&connection, &database, &error), &error, "the connection");

  printf("ingested: %" PRId64 "\n", ingest(&connection));
  query(&connection);
  check(driver.StatementNew(&connection, &statement, &error), &error, "StatementNew");
  show("refused", execute(&statement, "select nothing from nowhere_at_all", NULL, &error), &error);
  check(execute(&statement, "drop table from_c", NULL, &error), &error, "drop");
  check(driver.StatementRelease(&statement, &error), &error, "StatementRelease");
  if (count > 3) failing(&connection, arguments[3]);
  if (count > 4) cancelled(&connection, arguments[4]);

  check(driver.ConnectionRelease(&connection, &error), &error, "ConnectionRelease");
  check(driver.DatabaseRelease(&database, &error), &error, "DatabaseRelease");
  check(driver.release(&driver, &error), &error, "release");
  return 0;
}
