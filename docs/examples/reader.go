// Reads the events of a webhook in mode pull, and acknowledges them. Go 1.18 or later without packages.
//
// SALLYPORT_URL, WEBHOOK_ID, CLIENT_ID and CLIENT_SECRET say where and as whom. With FOLLOW=1 it waits for further events. Write your own
// handle.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

var (
	url     = strings.TrimRight(os.Getenv("SALLYPORT_URL"), "/")
	webhook = url + "/services/api/x/edge/v1/webhooks/" + os.Getenv("WEBHOOK_ID")
	follow  = os.Getenv("FOLLOW") == "1"
	client  = &http.Client{Timeout: time.Minute}
	token   string
)

const failuresMax = 16

// handle is for you to write. Once it returns nil, the event counts as processed. If the program ends before, it gets the event again.
func handle(messageID, eventType string, data json.RawMessage) error {
	_, err := fmt.Println(messageID, eventType, string(data))
	return err
}

type part struct {
	Records []struct {
		Value map[string]json.RawMessage `json:"value"`
	} `json:"records"`
	ThroughOffset      int64 `json:"throughOffset"`
	NewestOffset       int64 `json:"newestOffset"`
	AcknowledgedOffset int64 `json:"acknowledgedOffset"`
}

func send(method, address string, body, reply any, bearer string) (*http.Response, []byte, error) {
	var content io.Reader
	if body != nil {
		text, _ := json.Marshal(body)
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, address, content)
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode == 200 {
		err = json.Unmarshal(text, reply)
	}
	return response, text, err
}

func newToken() error {
	body := map[string]string{"clientId": os.Getenv("CLIENT_ID"), "clientSecret": os.Getenv("CLIENT_SECRET"),
		"grantType": "client_credentials", "scope": "records:read"}
	var reply struct {
		AccessToken string `json:"access_token"`
	}
	response, text, err := send("POST", url+"/services/api/oauth2/token", body, &reply, "")
	if err == nil && response.StatusCode != 200 {
		err = fmt.Errorf("no token: %s: %s", response.Status, text)
	}
	token = reply.AccessToken
	return err
}

// call repeats what failed for the moment, and asks for another token when one has ended. The status is 200, or that of a refusal.
func call(method, address string, body, reply any) (int, []byte) {
	isNew := false
	for failures := 1; ; failures++ {
		pause := time.Duration(0)
		var err error
		if token == "" {
			isNew, err = true, newToken()
		}
		if err == nil {
			response, text, problem := send(method, address, body, reply, token)
			switch {
			case problem != nil:
				err = problem
			case response.StatusCode == 401 && !isNew:
				token = ""
				continue
			case response.StatusCode == 429 || response.StatusCode >= 500:
				seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
				pause, err = time.Duration(seconds)*time.Second, fmt.Errorf("%s", response.Status)
			default:
				return response.StatusCode, text
			}
		}
		if failures >= failuresMax && !follow {
			fail("the sender cannot be reached: %v", err)
		}
		wait := 500 * time.Millisecond << min(failures-1, 10)
		if wait < pause {
			wait = pause
		}
		if wait > 30*time.Second {
			wait = 30 * time.Second
		}
		time.Sleep(wait)
	}
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}

func acknowledge(throughOffset int64) {
	var ignored any
	status, text := call("POST", webhook+"/acknowledge", map[string]int64{"throughOffset": throughOffset}, &ignored)
	// Another reader may be further. Any other refusal, such as a stopped webhook, ends the program.
	if status != 200 && !(status == 409 && bytes.Contains(text, []byte(`"field":"throughOffset"`))) {
		fail("not acknowledged: %d: %s", status, text)
	}
}

func main() {
	wait := "0"
	if follow {
		wait = "30"
	}
	for {
		var read part
		status, text := call("GET", webhook+"/records?limit=100&wait="+wait, nil, &read)
		if status != 200 {
			fail("not read: %d: %s", status, text)
		}
		for _, record := range read.Records {
			var headers struct{ MessageID, EventType string }
			if err := json.Unmarshal(record.Value["headers"], &headers); err != nil {
				fail("%v", err)
			}
			for name, data := range record.Value {
				if name == "headers" {
					continue
				}
				if err := handle(headers.MessageID, headers.EventType, data); err != nil {
					fail("%v", err)
				}
			}
		}
		if read.ThroughOffset > read.AcknowledgedOffset {
			acknowledge(read.ThroughOffset)
		}
		if !follow && read.ThroughOffset >= read.NewestOffset {
			return
		}
	}
}
