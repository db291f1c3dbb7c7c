// The client of the daemon's race in Go, with pgx: reads requests from standard input, one JSON object per line, and
// answers likewise. The requests are those of worker.py, which is the same for the clients in Python.
//
//	headrace-race-pgx URL
package main

import (
	"bufio"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	statement = "SELECT id, name FROM people LIMIT $1"
	first     = "SELECT 42"
)

// limits are the numbers of rows that statements ask for, in turn.
var limits = []int{10, 5, 1}

// row is what a program keeps of a row of the table.
type row struct {
	id   int32
	name string
}

type request struct {
	Do       string `json:"do"`
	Workload string `json:"workload"`
	Size     int    `json:"size"`
	Inner    int    `json:"inner"`
	// Pause is in seconds.
	Pause float64 `json:"pause"`
}

type client struct {
	config *pgx.ConnConfig
	conn   *pgx.Conn
	many   []*pgx.Conn
}

// clock adds up the time of the process, and the time that it has used the processor.
type clock struct{ seconds, cpu float64 }

func (c *clock) during(work func() error) error {
	used, began := cpu(), time.Now()
	err := work()
	c.seconds += time.Since(began).Seconds()
	c.cpu += cpu() - used
	return err
}

func cpu() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func main() {
	out := json.NewEncoder(os.Stdout)
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: headrace-race-pgx URL")
		os.Exit(2)
	}
	config, err := pgx.ParseConfig(os.Args[1])
	if err != nil {
		_ = out.Encode(failure(err))
		return
	}
	_ = out.Encode(map[string]any{"version": version(), "skips": map[string]string{}})
	one := &client{config: config}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var asked request
		err := json.Unmarshal(in.Bytes(), &asked)
		var answer map[string]any
		if err == nil {
			answer, err = one.answer(context.Background(), asked)
		}
		if err != nil {
			answer = failure(err)
		}
		if err := out.Encode(answer); err != nil {
			return
		}
	}
}

func failure(err error) map[string]any { return map[string]any{"error": err.Error()} }

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/jackc/pgx/v5" {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return ""
}

func (c *client) answer(ctx context.Context, asked request) (map[string]any, error) {
	switch asked.Do {
	case "prepare":
		return map[string]any{}, c.prepare(ctx, asked)
	case "round":
		return c.round(ctx, asked)
	case "finish":
		for _, conn := range c.many {
			if err := conn.Close(ctx); err != nil {
				return nil, err
			}
		}
		c.many = nil
		return map[string]any{}, nil
	}
	return nil, fmt.Errorf("unknown request %q", asked.Do)
}

// prepare is everything before the clock starts.
func (c *client) prepare(ctx context.Context, asked request) error {
	switch asked.Workload {
	case "connect", "connect_cold":
		return nil
	case "clients":
		for range asked.Size {
			conn, err := pgx.ConnectConfig(ctx, c.config)
			if err != nil {
				return err
			}
			c.many = append(c.many, conn)
			if _, err := query(ctx, conn, 1, nil); err != nil {
				return err
			}
		}
		return nil
	}
	if c.conn != nil {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, c.config)
	c.conn = conn
	return err
}

func (c *client) round(ctx context.Context, asked request) (map[string]any, error) {
	runtime.GC()
	var (
		taken     clock
		latencies = []float64{}
		rows      []row
		count     any
		digest    string
		err       error
	)
	switch asked.Workload {
	case "connect", "connect_cold":
		digest, err = c.connect(ctx, &taken, asked.Inner)
	case "one":
		err = taken.during(func() (err error) {
			for n := range asked.Inner {
				if rows, err = query(ctx, c.conn, limits[n%len(limits)], rows); err != nil {
					return err
				}
			}
			return nil
		})
	case "alone", "beside", "paced", "paced_beside":
		err = taken.during(func() (err error) {
			for n := range asked.Inner {
				time.Sleep(time.Duration(asked.Pause * float64(time.Second)))
				began := time.Now()
				if rows, err = query(ctx, c.conn, limits[n%len(limits)], rows); err != nil {
					return err
				}
				latencies = append(latencies, time.Since(began).Seconds())
			}
			return nil
		})
	case "batch":
		err = taken.during(func() (err error) {
			for range asked.Inner {
				if rows, err = batch(ctx, c.conn, asked.Size, rows); err != nil {
					return err
				}
			}
			return nil
		})
	case "count":
		var total int64
		err = taken.during(func() error {
			for range asked.Inner {
				found, err := counted(ctx, c.conn, asked.Size)
				if err != nil {
					return err
				}
				total += found
			}
			return nil
		})
		count = total
	case "clients":
		err = taken.during(func() (err error) {
			rows, err = c.clients(ctx, asked.Inner)
			return err
		})
	default:
		err = fmt.Errorf("unknown workload %q", asked.Workload)
	}
	if err != nil {
		return nil, err
	}
	if digest == "" && asked.Workload != "count" {
		digest = digestOf(rows)
	}
	return map[string]any{
		"seconds": taken.seconds, "cpu": taken.cpu, "latencies": latencies, "digest": digest, "count": count,
	}, nil
}

// connect is connecting and the first query; closing is not counted.
func (c *client) connect(ctx context.Context, taken *clock, inner int) (string, error) {
	var text strings.Builder
	for range inner {
		var (
			conn  *pgx.Conn
			value int
		)
		err := taken.during(func() (err error) {
			if conn, err = pgx.ConnectConfig(ctx, c.config); err != nil {
				return err
			}
			return conn.QueryRow(ctx, first).Scan(&value)
		})
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%d\n", value)
		if err := conn.Close(ctx); err != nil {
			return "", err
		}
	}
	return hash(text.String()), nil
}

func query(ctx context.Context, conn *pgx.Conn, limit int, into []row) ([]row, error) {
	found, err := conn.Query(ctx, statement, limit)
	if err != nil {
		return nil, err
	}
	return read(found, into)
}

func read(found pgx.Rows, into []row) ([]row, error) {
	defer found.Close()
	for found.Next() {
		var one row
		if err := found.Scan(&one.id, &one.name); err != nil {
			return nil, err
		}
		into = append(into, one)
	}
	return into, found.Err()
}

func send(ctx context.Context, conn *pgx.Conn, size int) pgx.BatchResults {
	requests := &pgx.Batch{}
	for n := range size {
		requests.Queue(statement, limits[n%len(limits)])
	}
	return conn.SendBatch(ctx, requests)
}

func batch(ctx context.Context, conn *pgx.Conn, size int, into []row) ([]row, error) {
	results := send(ctx, conn, size)
	for range size {
		found, err := results.Query()
		if err == nil {
			into, err = read(found, into)
		}
		if err != nil {
			return nil, errors.Join(err, results.Close())
		}
	}
	return into, results.Close()
}

func counted(ctx context.Context, conn *pgx.Conn, size int) (int64, error) {
	results, total := send(ctx, conn, size), int64(0)
	for range size {
		tag, err := results.Exec()
		if err != nil {
			return 0, errors.Join(err, results.Close())
		}
		total += tag.RowsAffected()
	}
	return total, results.Close()
}

// clients sends queries on all connections, one at a time on each.
func (c *client) clients(ctx context.Context, inner int) ([]row, error) {
	var (
		wait   sync.WaitGroup
		found  = make([][]row, len(c.many))
		failed = make([]error, len(c.many))
	)
	for n, conn := range c.many {
		wait.Go(func() {
			for range inner {
				if found[n], failed[n] = query(ctx, conn, 1, found[n]); failed[n] != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	var all []row
	for _, rows := range found {
		all = append(all, rows...)
	}
	return all, errors.Join(failed...)
}

func digestOf(rows []row) string {
	var text strings.Builder
	for _, one := range rows {
		fmt.Fprintf(&text, "%d|%s\n", one.id, one.name)
	}
	return hash(text.String())
}

func hash(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}
