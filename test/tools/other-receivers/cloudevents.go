// A receiver that is nothing but the official Go SDK of CloudEvents: its client receives the events, and its handler answers the handshake.
// Arguments: certificate, key, the allowed origin, and the allowed rate a minute. Prints its port, and one line of JSON for each event.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

func main() {
	certificate, err := tls.LoadX509KeyPair(os.Args[1], os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	rate, err := strconv.Atoi(os.Args[4])
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	protocol, err := cehttp.New(
		cehttp.WithListener(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}})),
		cehttp.WithDefaultOptionsHandlerFunc([]string{"POST"}, rate, []string{os.Args[3]}, false),
	)
	if err != nil {
		log.Fatal(err)
	}
	client, err := cloudevents.NewClient(protocol)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on port", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(client.StartReceiver(context.Background(), func(event cloudevents.Event) error {
		if err := event.Validate(); err != nil {
			return cehttp.NewResult(400, "%s", err)
		}
		line, err := json.Marshal(event)
		if err != nil {
			return err
		}
		fmt.Println("event", string(line))
		return nil
	}))
}
