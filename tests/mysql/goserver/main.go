// A server that speaks MySQL's protocol and is no kin of MariaDB: go-mysql-server, whose protocol half is Vitess's.
//
// It listens on a free port of the loopback address and prints it. Started with a certificate and its key it offers TLS.
// It ends when its input does.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"os"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
	"github.com/sirupsen/logrus"
)

// clearPassword is a plugin for accounts that authenticate by mysql_clear_password: it wants this very password.
type clearPassword string

func (password clearPassword) Authenticate(_ *mysql_db.MySQLDb, _ string, _ *mysql_db.User, given string) (bool, error) {
	return given == string(password), nil
}

// discarded is where accounts are kept when the server ends.
type discarded struct{}

func (discarded) Persist(*sql.Context, []byte) error { return nil }

func main() {
	logrus.SetOutput(io.Discard)
	database := memory.NewDatabase("test")
	database.BaseDatabase.EnablePrimaryKeyIndexes()
	provider := memory.NewDBProvider(database)
	engine := sqle.NewDefault(provider)
	accounts := engine.Analyzer.Catalog.MySQLDb
	accounts.SetEnabled(true)
	accounts.SetPersister(discarded{})
	accounts.SetPlugins(map[string]mysql_db.PlaintextAuthPlugin{"asks": clearPassword("tiger")})
	accounts.AddRootAccount()
	root := sql.NewBaseSessionWithClientServer("", sql.Client{User: "root", Address: "localhost"}, 1)
	context := sql.NewContext(context.Background(), sql.WithSession(memory.NewSession(root, provider)))
	for _, statement := range []string{
		"CREATE USER sha@'%' IDENTIFIED WITH caching_sha2_password BY 'tiger'",
		"CREATE USER native@'%' IDENTIFIED WITH mysql_native_password BY 'tiger'",
		"CREATE USER asked@'%' IDENTIFIED WITH asks",
		"CREATE USER nobody@'%' IDENTIFIED WITH caching_sha2_password BY ''",
		"GRANT ALL ON *.* TO sha@'%', native@'%', asked@'%', nobody@'%'",
	} {
		_, rows, _, err := engine.Query(context, statement)
		if err == nil {
			_, err = sql.RowIterToRows(context, rows)
		}
		if err != nil {
			log.Fatalf("%s: %v", statement, err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	config := server.Config{Protocol: "tcp", Listener: listener, Version: "8.0.33"}
	if len(os.Args) == 3 {
		certificate, err := tls.LoadX509KeyPair(os.Args[1], os.Args[2])
		if err != nil {
			log.Fatal(err)
		}
		config.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
	}
	running, err := server.NewServer(config, engine, sql.NewContext, memory.NewSessionBuilder(provider), nil)
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		if err := running.Start(); err != nil {
			log.Fatal(err)
		}
	}()
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	_, _ = io.Copy(io.Discard, os.Stdin)
}
