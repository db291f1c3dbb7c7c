// Asks a database through headraced with pgx and with database/sql, and measures a workload: a prepared statement of up
// to 10, 5 or 1 rows, many times in one pipeline.
//
//	go run . FOLDER DATABASE TABLE QUERY STATEMENTS
//
// FOLDER has the daemon's socket, DATABASE is a name in its configuration, and TABLE has the columns id, whole numbers
// from 0, and name. QUERY is the statement of the workload, whose only parameter is a number of rows: "select id, name
// from people limit $1", or on Informix "select first $1 id, name from people". The same program serves PostgreSQL,
// MariaDB, MySQL, Informix and CUBRID: the SQL is the server's own.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
)

// limits are the numbers of rows of the workload.
var limits = []int{10, 5, 1}

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: daemon-go FOLDER DATABASE TABLE QUERY STATEMENTS")
		os.Exit(2)
	}
	batch, err := strconv.Atoi(os.Args[5])
	if err == nil {
		err = run(context.Background(), os.Args[1], os.Args[2], os.Args[3], os.Args[4], batch)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder, database, table, query string, batch int) error {
	address := fmt.Sprintf("host=%s port=5432 user=anyone dbname=%s sslmode=disable", folder, database)
	if err := withSQL(ctx, address, table); err != nil {
		return fmt.Errorf("database/sql: %w", err)
	}
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if err := values(ctx, conn, table); err != nil {
		return fmt.Errorf("pgx: %w", err)
	}
	return workload(ctx, conn, query, batch)
}

// withSQL uses the interface of the standard library.
func withSQL(ctx context.Context, address, table string) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	defer db.Close()
	var name string
	if err := db.QueryRowContext(ctx, "select name from "+table+" where id = $1", 7).Scan(&name); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "update "+table+" set name = $1 where id = $2", "changed", 7); err != nil {
		return err
	}
	if err := tx.Rollback(); err != nil {
		return err
	}
	var after string
	if err := db.QueryRowContext(ctx, "select name from "+table+" where id = $1", 7).Scan(&after); err != nil {
		return err
	}
	fmt.Printf("sql %s %s\n", name, after)
	return nil
}

// values reads a row with pgx, whose parameters and results are binary where their types have such a form.
func values(ctx context.Context, conn *pgx.Conn, table string) error {
	var id int64
	var name string
	err := conn.QueryRow(ctx, "select id, name from "+table+" where id = $1 and name = $2", 3, "name 3").Scan(&id, &name)
	if err != nil {
		return err
	}
	fmt.Printf("pgx %d %s\n", id, name)
	return nil
}

// workload sends many executions of a prepared statement before it reads their results.
func workload(ctx context.Context, conn *pgx.Conn, query string, batch int) error {
	if _, err := conn.Prepare(ctx, "rows", query); err != nil {
		return err
	}
	began, rows := time.Now(), 0
	requests := &pgx.Batch{}
	for n := range batch {
		requests.Queue("rows", limits[n%len(limits)])
	}
	results := conn.SendBatch(ctx, requests)
	for range batch {
		result, err := results.Query()
		if err != nil {
			return err
		}
		for result.Next() {
			rows++
		}
		if err := result.Err(); err != nil {
			return err
		}
	}
	if err := results.Close(); err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Printf("workload %d statements %d rows\n", batch, rows)
	fmt.Fprintf(os.Stderr, "%.0f statements a second\n", float64(batch)/took.Seconds())
	return nil
}
