// Verifies deliveries with the official Go library of Standard Webhooks. Reads a JSON list of {secret, body, headers} and writes a JSON
// list: null if the library accepts the delivery, otherwise its error.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

type message struct {
	Secret  string            `json:"secret"`
	Body    string            `json:"body"`
	Headers map[string]string `json:"headers"`
}

func verify(m message) *string {
	webhook, err := standardwebhooks.NewWebhook(m.Secret)
	if err == nil {
		headers := http.Header{}
		for name, value := range m.Headers {
			headers.Set(name, value)
		}
		err = webhook.Verify([]byte(m.Body), headers)
	}
	if err == nil {
		return nil
	}
	text := err.Error()
	return &text
}

func main() {
	var messages []message
	if err := json.NewDecoder(os.Stdin).Decode(&messages); err != nil {
		log.Fatal(err)
	}
	results := make([]*string, len(messages))
	for i, m := range messages {
		results[i] = verify(m)
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		log.Fatal(err)
	}
}
