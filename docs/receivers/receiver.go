// Receives Sallyport's webhooks. Go 1.18 or later and its standard library; GnuPG for encrypted deliveries.
//
// README.md in this folder has the settings and the order of the checks. Write your own handle.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	maxBytes           = 4 << 20 // of a body, as received and once it is decoded
	messagesRemembered = 50_000
	timeout            = 30 * time.Second
)

var (
	secrets = linesOf("WEBHOOK_SECRETS")
	apiKeys = linesOf("WEBHOOK_API_KEYS")
	pgpKeys = linesOf("WEBHOOK_PGP_KEYS")
	// Ed25519 keys, whpk_ and Base64, which verify signatures v1a.
	publicKeys = linesOf("WEBHOOK_PUBLIC_KEYS")
	now        = time.Now
)

// handle is for you to write. Once it returns nil, the message counts as handled. After an error the sender tries again.
func handle(messageID, eventType string, data json.RawMessage) error {
	_, err := fmt.Println(messageID, eventType, string(data))
	return err
}

// verify:begin

const tolerance = 300 * time.Second

var (
	authorizationForm = regexp.MustCompile(`^HMAC-SHA256 SignedHeaders=([a-z0-9-]+(?:;[a-z0-9-]+){0,15})&Signature=([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)$`)
	hashForm          = regexp.MustCompile(`^[A-Za-z0-9+/]{43}=$`)
	base64Form        = regexp.MustCompile(`^[A-Za-z0-9+/]+={0,2}$`)
)

// A refusal has the status to answer and the reason.
type refusal struct {
	status         int
	code, sentence string
}

func (r *refusal) Error() string { return r.code + ": " + r.sentence }

func refuse(status int, code, sentence string, args ...any) error {
	return &refusal{status, code, fmt.Sprintf(sentence, args...)}
}

// verify returns the hash that the body must have. target is path and query as sent. Header names are in lower case.
func verify(target string, headers map[string]string, secrets []string, now time.Time) (contentHash string, err error) {
	authorization, given := headers["authorization"]
	if !given {
		return "", refuse(401, "missing_authorization", "Authorization is missing")
	}
	if !strings.HasPrefix(authorization, "HMAC-SHA256 ") {
		return "", refuse(401, "wrong_scheme", "the scheme of Authorization is not HMAC-SHA256")
	}
	match := authorizationForm.FindStringSubmatch(authorization)
	if match == nil {
		return "", refuse(401, "malformed_authorization", "Authorization lacks SignedHeaders=a;b&Signature=c")
	}
	names, signature, signed := strings.Split(match[1], ";"), match[2], map[string]bool{}
	for _, name := range names {
		if signed[name] {
			return "", refuse(401, "malformed_authorization", "SignedHeaders has a name twice")
		}
		signed[name] = true
	}
	// Without the date, old requests could be replayed. Without the hash, bodies could be exchanged.
	for _, name := range []string{"x-content-sha256", "date"} {
		if !signed[name] {
			return "", refuse(401, "unsigned_header", "SignedHeaders lacks %s", name)
		}
	}
	values := make([]string, len(names))
	for i, name := range names {
		if values[i], given = headers[name]; !given {
			return "", refuse(401, "missing_header", "the signed header %s is missing", name)
		}
	}
	contentHash = headers["x-content-sha256"]
	if !hashForm.MatchString(contentHash) {
		return "", refuse(401, "malformed_content_hash", "x-content-sha256 is not Base64 of 32 bytes")
	}
	date, err := time.Parse(http.TimeFormat, headers["date"])
	// The parser accepts a wrong weekday and more, so the formatted result must be the same text.
	if err != nil || date.Format(http.TimeFormat) != headers["date"] {
		return "", refuse(401, "malformed_date", "date is not as in %s", http.TimeFormat)
	}
	if age := now.Truncate(time.Second).Sub(date); age > tolerance {
		return "", refuse(401, "stale_date", "date is %.0f s old, %.0f s allowed", age.Seconds(), tolerance.Seconds())
	} else if age < -tolerance {
		return "", refuse(401, "future_date", "date is %.0f s ahead of this clock, %.0f s allowed", -age.Seconds(), tolerance.Seconds())
	}
	message := "POST\n" + strings.ToLower(target) + "\n" + strings.Join(values, ";")
	isSigned := false
	for _, secret := range secrets {
		// Compares all of them in constant time, so that the time does not reveal which one matches.
		matches := hmac.Equal([]byte(sign(secret, message)), []byte(signature))
		isSigned = isSigned || matches
	}
	if !isSigned {
		return "", refuse(401, "wrong_signature", "none of the %d secrets signed this path and these headers", len(secrets))
	}
	return contentHash, nil
}

func sign(secret, message string) string {
	key := []byte(secret)
	// The key is the decoded secret if it is Base64 with padding, otherwise the bytes of its text.
	if len(secret)%4 == 0 && base64Form.MatchString(secret) {
		key, _ = base64.StdEncoding.DecodeString(secret)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(message))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// checkHash takes the bytes as received: a body that was parsed and serialized again has another hash.
func checkHash(body []byte, contentHash string) error {
	if hash := sha256.Sum256(body); base64.StdEncoding.EncodeToString(hash[:]) != contentHash {
		return refuse(400, "wrong_content_hash", "x-content-sha256 does not match the %d bytes received", len(body))
	}
	return nil
}

// verify:end

var secondsForm = regexp.MustCompile(`^[0-9]{1,12}$`)

// verifyPublic checks that one of the keys signed id, time and body (Standard Webhooks, v1a). It needs no secret.
func verifyPublic(body []byte, headers map[string]string, publicKeys []string, now time.Time) error {
	id, timestamp, signatures := headers["webhook-id"], headers["webhook-timestamp"], headers["webhook-signature"]
	if id == "" || timestamp == "" || signatures == "" {
		return refuse(401, "missing_header", "webhook-id, webhook-timestamp or webhook-signature is missing")
	}
	if !secondsForm.MatchString(timestamp) {
		return refuse(401, "malformed_timestamp", "webhook-timestamp is not digits only")
	}
	seconds, _ := strconv.ParseInt(timestamp, 10, 64)
	if age := now.Truncate(time.Second).Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return refuse(401, "stale_timestamp", "webhook-timestamp differs by %.0f s, %.0f s allowed", age.Seconds(), tolerance.Seconds())
	}
	message := append([]byte(id+"."+timestamp+"."), body...)
	for _, text := range strings.Split(signatures, " ") {
		signature, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "v1a,"))
		if !strings.HasPrefix(text, "v1a,") || err != nil {
			continue
		}
		for _, publicKey := range publicKeys {
			key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(publicKey, "whpk_"))
			if err == nil && len(key) == ed25519.PublicKeySize && ed25519.Verify(key, message, signature) {
				return nil
			}
		}
	}
	return refuse(401, "wrong_signature", "none of the %d public keys signed %s, %s and the body", len(publicKeys), id, timestamp)
}

var tokenForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// receive returns the answer to a token challenge, or "" once a delivery is handled.
func receive(r *http.Request) (answer string, err error) {
	headers := map[string]string{}
	for name, values := range r.Header {
		// Joins repeated headers, so that no single value is picked.
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	if r.Method != "POST" {
		return "", refuse(405, "wrong_method", "the method is %s, not POST", r.Method)
	}
	isKnown := false
	for _, apiKey := range apiKeys {
		matches := hmac.Equal([]byte(apiKey), []byte(headers["x-api-key"]))
		isKnown = isKnown || matches
	}
	if !isKnown {
		return "", refuse(401, "wrong_api_key", "x-api-key is missing or not the one agreed")
	}
	if token, given := headers["x-challenge-sha256"]; given {
		// Signs only tokens. Otherwise anyone could have any text signed.
		if !tokenForm.MatchString(token) {
			return "", refuse(401, "malformed_challenge", "x-challenge-sha256 is not 43 characters of Base64url")
		}
		if len(secrets) == 0 {
			return "", refuse(401, "malformed_challenge", "there is no secret to answer a challenge with")
		}
		return sign(secrets[0], "POST"+r.RequestURI+token), nil
	}
	var contentHash string
	if len(secrets) > 0 {
		if contentHash, err = verify(r.RequestURI, headers, secrets, now()); err != nil {
			return "", err
		}
	}
	isEncrypted, isZipped, err := readEncoding(headers)
	if err != nil {
		return "", err
	}
	var body []byte
	if r.ContentLength <= maxBytes {
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxBytes+1)); err != nil {
			return "", refuse(400, "body_incomplete", "the connection ended before the body was complete")
		}
	}
	if len(body) > maxBytes || r.ContentLength > maxBytes {
		return "", refuse(413, "too_large", "the body has more than the %d bytes allowed", maxBytes)
	}
	if len(secrets) > 0 {
		if err = checkHash(body, contentHash); err != nil {
			return "", err
		}
	}
	if len(publicKeys) > 0 {
		if err = verifyPublic(body, headers, publicKeys, now()); err != nil {
			return "", err
		}
	}
	if isEncrypted {
		if body, err = decrypt(r.Context(), body, headers["x-pgp-key-name"]); err != nil {
			return "", err
		}
	}
	if isZipped {
		if body, err = gunzip(body); err != nil {
			return "", err
		}
	}
	if len(body) > maxBytes {
		return "", refuse(413, "too_large", "the decoded body has more than the %d bytes allowed", maxBytes)
	}
	records, err := readRecords(body)
	if err != nil {
		return "", err
	}
	return "", handleOnce(records)
}

func readEncoding(headers map[string]string) (isEncrypted, isZipped bool, err error) {
	encrypted, isEncrypted := headers["x-content-encrypted"]
	if _, named := headers["x-pgp-key-name"]; isEncrypted && (encrypted != "true" || !named) {
		return false, false, refuse(400, "contradicting_headers", "x-content-encrypted is not true, or x-pgp-key-name is missing")
	}
	mediaType, here, elsewhere := "application/json", "content-encoding", "x-original-encoding"
	if isEncrypted {
		mediaType, here, elsewhere = "application/octet-stream", elsewhere, here
	}
	given, _, _ := strings.Cut(headers["content-type"], ";")
	if !strings.EqualFold(strings.TrimSpace(given), mediaType) {
		return false, false, refuse(400, "unsupported_content_type", "content-type is not %s", mediaType)
	}
	if _, given := headers[elsewhere]; given {
		return false, false, refuse(400, "contradicting_headers", "%s contradicts x-content-encrypted", elsewhere)
	}
	encoding, isZipped := headers[here]
	if isZipped && !strings.EqualFold(encoding, "gzip") {
		return false, false, refuse(400, "unsupported_encoding", "%s is not gzip", here)
	}
	if isEncrypted && len(pgpKeys) == 0 {
		return false, false, refuse(500, "no_decryption", "the body is encrypted and WEBHOOK_PGP_KEYS names no key")
	}
	return isEncrypted, isZipped, nil
}

func decrypt(ctx context.Context, message []byte, keyName string) ([]byte, error) {
	isKnown := false
	for _, name := range pgpKeys {
		isKnown = isKnown || name == keyName
	}
	if !isKnown {
		return nil, refuse(500, "decryption_failed", "no private key has the name %q", keyName)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// Never asks for a passphrase. The bound is for compressed data inside the PGP message.
	gpg := exec.CommandContext(ctx, "gpg", "--batch", "--no-tty", "--pinentry-mode", "cancel",
		"--max-output", strconv.Itoa(maxBytes+1), "--status-fd", "2", "--decrypt")
	var content, status bytes.Buffer
	gpg.Stdin, gpg.Stdout, gpg.Stderr = bytes.NewReader(message), &content, &status
	err := gpg.Run()
	// GnuPG also outputs messages that were not encrypted, with exit status 0, but then without this line.
	if err != nil || !strings.Contains("\n"+status.String(), "\n[GNUPG:] DECRYPTION_OKAY\n") {
		return nil, refuse(500, "decryption_failed", "the PGP message was changed, cut, or is not for a key that is here")
	}
	return content.Bytes(), nil
}

func gunzip(packed []byte) ([]byte, error) {
	unzip, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		var content []byte
		// Bounds the output of a zip bomb.
		if content, err = io.ReadAll(io.LimitReader(unzip, maxBytes+1)); err == nil {
			return content, nil
		}
	}
	return nil, refuse(400, "malformed_gzip", "the body is not gzip, or is incomplete")
}

type record struct {
	messageID, eventType string
	data                 json.RawMessage
}

var wordBreak = regexp.MustCompile(`[._-]+.?`)

func readRecords(body []byte) ([]record, error) {
	if !utf8.Valid(body) || !json.Valid(body) {
		return nil, refuse(400, "malformed_json", "the body is not JSON in UTF-8")
	}
	var envelope struct {
		SubscriptionID, SessionID *string
		Records                   []struct{ Value map[string]json.RawMessage }
	}
	err := json.Unmarshal(body, &envelope)
	if err != nil || envelope.SubscriptionID == nil || envelope.SessionID == nil || envelope.Records == nil {
		return nil, refuse(400, "malformed_envelope", "the body is JSON of another kind, or lacks subscriptionId, sessionId or records")
	}
	records := make([]record, 0, len(envelope.Records))
	for i, one := range envelope.Records {
		var headers struct{ MessageID, EventType *string }
		err := json.Unmarshal(one.Value["headers"], &headers)
		if err != nil || headers.MessageID == nil || headers.EventType == nil {
			return nil, refuse(400, "malformed_envelope", "records[%d].value.headers lacks messageId or eventType", i)
		}
		// The key of the data is the event type in camelCase: employee.created, employeeCreated.
		key := wordBreak.ReplaceAllStringFunc(*headers.EventType, func(found string) string {
			return strings.ToUpper(strings.TrimLeft(found, "._-"))
		})
		data, given := one.Value[key]
		if !given {
			return nil, refuse(400, "malformed_envelope", "records[%d].value lacks %s", i, key)
		}
		records = append(records, record{*headers.MessageID, *headers.EventType, data})
	}
	return records, nil
}

var (
	handling sync.Mutex
	handled  = map[string]bool{}
	order    []string
)

func handleOnce(records []record) error {
	// Handles one delivery at a time: after a timeout, the sender may repeat a delivery that is still being handled here.
	handling.Lock()
	defer handling.Unlock()
	for _, one := range records {
		if handled[one.messageID] {
			continue
		}
		if err := handle(one.messageID, one.eventType, one.data); err != nil {
			return err
		}
		handled[one.messageID] = true
		if order = append(order, one.messageID); len(order) > messagesRemembered {
			delete(handled, order[0])
			order = order[1:]
		}
	}
	return nil
}

func respond(w http.ResponseWriter, r *http.Request) {
	answer, err := receive(r)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		log.Printf("refused: %s", refused)
		w.Header().Set("Allow", "POST")
		w.Header().Set("WWW-Authenticate", "HMAC-SHA256")
		http.Error(w, refused.Error(), refused.status)
	case err != nil:
		log.Print(err) // why is not the sender's business
		http.Error(w, "failed: see the log of the receiver", 500)
	case answer != "":
		w.Header().Set("x-challenge-sha256", answer)
	default:
		w.WriteHeader(204)
	}
}

func main() {
	if len(secrets)+len(publicKeys) == 0 || len(apiKeys) == 0 {
		log.Fatal("WEBHOOK_SECRETS and WEBHOOK_API_KEYS are needed")
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(settingOf("HOST", "127.0.0.1"), settingOf("PORT", "3000")))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on port %d\n", listener.Addr().(*net.TCPAddr).Port)
	// Without ServeMux, which redirects paths that are not clean.
	server := &http.Server{Handler: http.HandlerFunc(respond), ReadTimeout: timeout}
	if certificate := os.Getenv("WEBHOOK_TLS_CERT_FILE"); certificate != "" {
		err = server.ServeTLS(listener, certificate, os.Getenv("WEBHOOK_TLS_KEY_FILE"))
	} else {
		err = server.Serve(listener)
	}
	log.Fatal(err)
}

func settingOf(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

func linesOf(name string) []string {
	return strings.FieldsFunc(os.Getenv(name), func(letter rune) bool { return letter == '\n' })
}
