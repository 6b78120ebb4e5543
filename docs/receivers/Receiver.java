// Receives Sallyport's webhooks. Java 17 or later without packages; GnuPG for encrypted deliveries.
//
// README.md in this folder has the settings and the order of the checks. Write your own handle().

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.time.Clock;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.ResolverStyle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

public final class Receiver {
    static final List<String> SECRETS = linesOf("WEBHOOK_SECRETS");
    static final List<String> API_KEYS = linesOf("WEBHOOK_API_KEYS");
    static final List<String> PGP_KEYS = linesOf("WEBHOOK_PGP_KEYS");
    static final List<String> PUBLIC_KEYS = linesOf("WEBHOOK_PUBLIC_KEYS"); // Ed25519, whpk_ and Base64: for signatures v1a
    static final int MAX_BYTES = 4 << 20; // of a body, as received and once it is decoded
    static final int MESSAGES_REMEMBERED = 50_000;
    static Clock clock = Clock.systemUTC();

    /** Write this. Once it returns, the message counts as handled. If it throws, the sender tries again. `data` is JSON. */
    static void handle(String messageId, String eventType, String data) {
        System.out.println(messageId + " " + eventType + " " + data);
    }

    // verify:begin
    static final class Refused extends RuntimeException {
        final int status;

        Refused(int status, String code, String sentence) {
            super(code + ": " + sentence);
            this.status = status;
        }
    }

    static void check(boolean holds, int status, String code, String sentence) {
        if (!holds) throw new Refused(status, code, sentence);
    }

    static final int TOLERANCE_SECONDS = 300;
    static final Pattern AUTHORIZATION = Pattern.compile("HMAC-SHA256 SignedHeaders="
            + "([a-z0-9-]+(?:;[a-z0-9-]+){0,15})&Signature=([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)");
    static final DateTimeFormatter DATE = DateTimeFormatter.ofPattern("EEE, dd MMM uuuu HH:mm:ss 'GMT'", Locale.US)
            .withResolverStyle(ResolverStyle.STRICT).withZone(ZoneOffset.UTC);

    /** Returns the hash that the body must have. `target` is path and query as sent. Header names are in lower case. */
    static String verify(String target, Map<String, String> headers, List<String> secrets, Instant now) {
        var authorization = headers.get("authorization");
        check(authorization != null, 401, "missing_authorization", "Authorization is missing");
        check(authorization.startsWith("HMAC-SHA256 "), 401, "wrong_scheme", "the scheme of Authorization is not HMAC-SHA256");
        var match = AUTHORIZATION.matcher(authorization);
        check(match.matches(), 401, "malformed_authorization", "Authorization lacks SignedHeaders=a;b&Signature=c");
        var names = List.of(match.group(1).split(";"));
        check(Set.copyOf(names).size() == names.size(), 401, "malformed_authorization", "SignedHeaders has a name twice");
        // Without the date, old requests could be replayed. Without the hash, bodies could be exchanged.
        for (var name : List.of("x-content-sha256", "date")) {
            check(names.contains(name), 401, "unsigned_header", "SignedHeaders lacks " + name);
        }
        for (var name : names) {
            check(headers.containsKey(name), 401, "missing_header", "the signed header " + name + " is missing");
        }
        var contentHash = headers.get("x-content-sha256");
        check(contentHash.matches("[A-Za-z0-9+/]{43}="), 401, "malformed_content_hash",
                "x-content-sha256 is not Base64 of 32 bytes");
        var age = now.getEpochSecond() - secondsOf(headers.get("date"));
        var allowed = ", " + TOLERANCE_SECONDS + " s allowed";
        check(age <= TOLERANCE_SECONDS, 401, "stale_date", "date is " + age + " s old" + allowed);
        check(age >= -TOLERANCE_SECONDS, 401, "future_date", "date is " + -age + " s ahead of this clock" + allowed);
        var message = "POST\n" + target.toLowerCase(Locale.ROOT) + "\n"
                + names.stream().map(headers::get).collect(Collectors.joining(";"));
        var isSigned = false;
        for (var secret : secrets) {
            // Compares all of them in constant time, so that the time does not reveal which one matches.
            isSigned |= MessageDigest.isEqual(bytesOf(sign(secret, message)), bytesOf(match.group(2)));
        }
        check(isSigned, 401, "wrong_signature", "none of the " + secrets.size() + " secrets signed this path and these headers");
        return contentHash;
    }

    static String sign(String secret, String message) {
        // The key is the decoded secret if it is Base64 with padding, otherwise the bytes of its text.
        var isBase64 = secret.length() % 4 == 0 && secret.matches("[A-Za-z0-9+/]+={0,2}");
        var key = isBase64 ? Base64.getDecoder().decode(secret) : bytesOf(secret);
        try {
            var mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return Base64.getEncoder().encodeToString(mac.doFinal(bytesOf(message)));
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error); // every Java has it
        }
    }

    static long secondsOf(String date) {
        try {
            return Instant.from(DATE.parse(date)).getEpochSecond();
        } catch (DateTimeException error) {
            throw new Refused(401, "malformed_date", "date is not as in Sat, 21 Nov 2026 05:00:00 GMT");
        }
    }

    /** Pass the bytes as received: a body that was parsed and serialized again has another hash. */
    static void checkHash(byte[] body, String contentHash) throws GeneralSecurityException {
        var hash = Base64.getEncoder().encodeToString(MessageDigest.getInstance("SHA-256").digest(body));
        check(hash.equals(contentHash), 400, "wrong_content_hash",
                "x-content-sha256 does not match the " + body.length + " bytes received");
    }

    static byte[] bytesOf(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
    // verify:end

    /** The DER of an Ed25519 public key up to its 32 bytes (RFC 8410). */
    static final byte[] PUBLIC_KEY_HEAD = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

    /** Checks that one of the keys signed id, time and body (Standard Webhooks, v1a). Needs no secret. */
    static void verifyPublic(byte[] body, Map<String, String> headers, List<String> publicKeys, Instant now) {
        var names = List.of("webhook-id", "webhook-timestamp", "webhook-signature");
        check(headers.keySet().containsAll(names), 401, "missing_header", "one of " + String.join(", ", names) + " is missing");
        var timestamp = headers.get("webhook-timestamp");
        check(timestamp.matches("[0-9]{1,12}"), 401, "malformed_timestamp", "webhook-timestamp is not digits only");
        var age = Math.abs(now.getEpochSecond() - Long.parseLong(timestamp));
        check(age <= TOLERANCE_SECONDS, 401, "stale_timestamp",
                "webhook-timestamp differs by " + age + " s, " + TOLERANCE_SECONDS + " s allowed");
        var head = bytesOf(headers.get("webhook-id") + "." + timestamp + ".");
        for (var text : headers.get("webhook-signature").split(" ")) {
            for (var publicKey : publicKeys) {
                if (text.startsWith("v1a,") && isSignedBy(publicKey, text.substring(4), head, body)) return;
            }
        }
        throw new Refused(401, "wrong_signature", "none of the " + publicKeys.size() + " public keys signed id, time and body");
    }

    static boolean isSignedBy(String publicKey, String signature, byte[] head, byte[] body) {
        try {
            var key = Base64.getDecoder().decode(publicKey.replaceFirst("^whpk_", ""));
            var der = Arrays.copyOf(PUBLIC_KEY_HEAD, PUBLIC_KEY_HEAD.length + key.length);
            System.arraycopy(key, 0, der, PUBLIC_KEY_HEAD.length, key.length);
            var verifier = Signature.getInstance("Ed25519");
            verifier.initVerify(KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(der)));
            verifier.update(head);
            verifier.update(body);
            return verifier.verify(Base64.getDecoder().decode(signature));
        } catch (GeneralSecurityException | IllegalArgumentException error) {
            return false; // no Base64, or no key or signature of Ed25519
        }
    }

    /** Returns the answer to a token challenge, or null once a delivery is handled. */
    static String receive(HttpExchange exchange) throws Exception {
        var method = exchange.getRequestMethod();
        check(method.equals("POST"), 405, "wrong_method", "the method is " + method + ", not POST");
        var headers = new TreeMap<String, String>();
        // Joins repeated headers, so that no single value is picked.
        exchange.getRequestHeaders().forEach((name, values) ->
                headers.put(name.toLowerCase(Locale.ROOT), String.join(", ", values)));
        var isKnown = false;
        for (var apiKey : API_KEYS) {
            isKnown |= MessageDigest.isEqual(bytesOf(apiKey), bytesOf(headers.getOrDefault("x-api-key", "")));
        }
        check(isKnown, 401, "wrong_api_key", "x-api-key is missing or not the one agreed");
        var target = exchange.getRequestURI().toString();
        var token = headers.get("x-challenge-sha256");
        if (token != null) {
            // Signs only tokens. Otherwise anyone could have any text signed.
            check(token.matches("[A-Za-z0-9_-]{43}"), 401, "malformed_challenge",
                    "x-challenge-sha256 is not 43 characters of Base64url");
            check(!SECRETS.isEmpty(), 401, "malformed_challenge", "there is no secret to answer a challenge with");
            return sign(SECRETS.get(0), "POST" + target + token);
        }
        var contentHash = SECRETS.isEmpty() ? null : verify(target, headers, SECRETS, clock.instant());
        var encoding = readEncoding(headers);
        // If the length is announced, refuses without waiting for the body.
        var announced = headers.getOrDefault("content-length", "0");
        var isLarge = !announced.matches("[0-9]{1,9}") || Integer.parseInt(announced) > MAX_BYTES;
        var body = isLarge ? null : exchange.getRequestBody().readNBytes(MAX_BYTES + 1);
        check(body != null && body.length <= MAX_BYTES, 413, "too_large", "the body has more than the " + MAX_BYTES + " bytes allowed");
        if (contentHash != null) checkHash(body, contentHash);
        if (!PUBLIC_KEYS.isEmpty()) verifyPublic(body, headers, PUBLIC_KEYS, clock.instant());
        if (encoding.keyName != null) body = decrypt(body, encoding.keyName);
        if (encoding.isZipped) body = gunzip(body);
        check(body.length <= MAX_BYTES, 413, "too_large", "the decoded body has more than the " + MAX_BYTES + " bytes allowed");
        handleOnce(readRecords(body));
        return null;
    }

    /** `keyName` is null if the body is not encrypted. */
    record Encoding(String keyName, boolean isZipped) {}

    static Encoding readEncoding(Map<String, String> headers) {
        var encrypted = headers.get("x-content-encrypted");
        var keyName = encrypted == null ? null : headers.get("x-pgp-key-name");
        check(encrypted == null || encrypted.equals("true") && keyName != null, 400, "contradicting_headers",
                "x-content-encrypted is not true, or x-pgp-key-name is missing");
        var mediaType = keyName == null ? "application/json" : "application/octet-stream";
        var here = keyName == null ? "content-encoding" : "x-original-encoding";
        var elsewhere = keyName == null ? "x-original-encoding" : "content-encoding";
        var given = headers.getOrDefault("content-type", "").split(";", 2)[0].strip();
        check(given.equalsIgnoreCase(mediaType), 400, "unsupported_content_type", "content-type is not " + mediaType);
        check(!headers.containsKey(elsewhere), 400, "contradicting_headers", elsewhere + " contradicts x-content-encrypted");
        var encoding = headers.get(here);
        check(encoding == null || encoding.equalsIgnoreCase("gzip"), 400, "unsupported_encoding", here + " is not gzip");
        check(keyName == null || !PGP_KEYS.isEmpty(), 500, "no_decryption",
                "the body is encrypted and WEBHOOK_PGP_KEYS names no key");
        return new Encoding(keyName, encoding != null);
    }

    static byte[] decrypt(byte[] message, String keyName) throws IOException, InterruptedException {
        check(PGP_KEYS.contains(keyName), 500, "decryption_failed", "no private key has the name " + keyName);
        var file = Files.createTempFile("delivery", ".pgp");
        try {
            Files.write(file, message);
            // Never asks for a passphrase. The bound is for compressed data inside the PGP message.
            var gpg = new ProcessBuilder("gpg", "--batch", "--no-tty", "--pinentry-mode", "cancel", "--max-output",
                    String.valueOf(MAX_BYTES + 1), "--status-fd", "2", "--decrypt", file.toString()).start();
            gpg.getOutputStream().close();
            var content = gpg.getInputStream().readAllBytes();
            var status = new String(gpg.getErrorStream().readAllBytes(), StandardCharsets.UTF_8).lines().toList();
            // GnuPG also outputs messages that were not encrypted, with exit status 0, but then without this line.
            check(gpg.waitFor() == 0 && status.contains("[GNUPG:] DECRYPTION_OKAY"), 500, "decryption_failed",
                    "the PGP message was changed, cut, or is not for a key that is here");
            return content;
        } finally {
            Files.delete(file);
        }
    }

    static byte[] gunzip(byte[] packed) {
        try (var unzip = new GZIPInputStream(new ByteArrayInputStream(packed))) {
            return unzip.readNBytes(MAX_BYTES + 1); // of a bomb no more than that is made
        } catch (IOException error) {
            throw new Refused(400, "malformed_gzip", "the body is not gzip, or is incomplete");
        }
    }

    record Event(String messageId, String eventType, String data) {}

    static List<Event> readRecords(byte[] body) {
        Json envelope;
        try {
            envelope = new JsonReader(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString()).whole();
        } catch (CharacterCodingException | IllegalArgumentException error) {
            throw new Refused(400, "malformed_json", "the body is not JSON in UTF-8");
        }
        try {
            envelope.member("subscriptionId").asText();
            envelope.member("sessionId").asText();
            var events = new ArrayList<Event>();
            for (var one : envelope.member("records").asList()) {
                var value = one.member("value");
                var eventType = value.member("headers").member("eventType").asText();
                // The key of the data is the event type in camelCase: employee.created, employeeCreated.
                var key = Pattern.compile("[._-]+(.?)").matcher(eventType).replaceAll(found -> found.group(1).toUpperCase(Locale.ROOT));
                events.add(new Event(value.member("headers").member("messageId").asText(), eventType, value.member(key).text));
            }
            return events;
        } catch (IllegalArgumentException error) {
            throw new Refused(400, "malformed_envelope", "the body is JSON of another kind: " + error.getMessage());
        }
    }

    static final Set<String> HANDLED = Collections.newSetFromMap(new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
            return size() > MESSAGES_REMEMBERED;
        }
    });

    /** Handles one delivery at a time: after a timeout, the sender may repeat a delivery that is still being handled here. */
    static synchronized void handleOnce(List<Event> events) {
        for (var event : events) {
            if (HANDLED.contains(event.messageId)) continue;
            handle(event.messageId, event.eventType, event.data);
            HANDLED.add(event.messageId);
        }
    }

    static void respond(HttpExchange exchange) throws IOException {
        var status = 204;
        var text = "";
        try {
            var answer = receive(exchange);
            if (answer != null) {
                status = 200;
                exchange.getResponseHeaders().set("x-challenge-sha256", answer);
            }
        } catch (Refused refused) {
            status = refused.status;
            text = refused.getMessage();
            System.err.println("refused: " + text);
            exchange.getResponseHeaders().set("Allow", "POST");
            exchange.getResponseHeaders().set("WWW-Authenticate", "HMAC-SHA256");
            exchange.getResponseHeaders().set("Connection", "close");
        } catch (Exception error) {
            status = 500;
            text = "failed: see the log of the receiver"; // why is not the sender's business
            error.printStackTrace();
        }
        var body = bytesOf(text);
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
        if (body.length > 0) exchange.getResponseBody().write(body);
        exchange.close();
    }

    public static void main(String[] args) throws Exception {
        if (SECRETS.isEmpty() && PUBLIC_KEYS.isEmpty() || API_KEYS.isEmpty()) {
            System.err.println("WEBHOOK_SECRETS and WEBHOOK_API_KEYS are needed");
            System.exit(1);
        }
        System.setProperty("sun.net.httpserver.maxReqTime", "30"); // seconds that a request may take to come
        var environment = System.getenv();
        var address = new InetSocketAddress(environment.getOrDefault("HOST", "127.0.0.1"),
                Integer.parseInt(environment.getOrDefault("PORT", "3000")));
        var keystore = environment.get("WEBHOOK_TLS_KEYSTORE_FILE");
        HttpServer server;
        if (keystore == null) {
            server = HttpServer.create(address, 0);
        } else {
            var password = environment.getOrDefault("WEBHOOK_TLS_KEYSTORE_PASSWORD", "").toCharArray();
            var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(KeyStore.getInstance(Path.of(keystore).toFile(), password), password);
            var tls = SSLContext.getInstance("TLS");
            tls.init(keys.getKeyManagers(), null, null);
            var https = HttpsServer.create(address, 0);
            https.setHttpsConfigurator(new HttpsConfigurator(tls));
            server = https;
        }
        server.createContext("/", Receiver::respond);
        server.setExecutor(Executors.newFixedThreadPool(16));
        server.start();
        System.out.println("listening on port " + server.getAddress().getPort());
    }

    static List<String> linesOf(String name) {
        return Stream.of(System.getenv().getOrDefault(name, "").split("\n")).filter(line -> !line.isEmpty()).toList();
    }

    /** A JSON value: a map, a list or a string, null for other values; and its text, for the JSON library of your choice. */
    record Json(Object value, String text) {
        Json member(String name) {
            if (value instanceof Map<?, ?> members && members.get(name) instanceof Json member) return member;
            throw new IllegalArgumentException(name + " is missing");
        }

        List<Json> asList() {
            if (!(value instanceof List<?> list)) throw new IllegalArgumentException("a list is wanted");
            return list.stream().map(Json.class::cast).toList();
        }

        String asText() {
            if (value instanceof String string) return string;
            throw new IllegalArgumentException("a string is wanted");
        }
    }

    /** Parses JSON (RFC 8259), because Java has no parser. Throws an IllegalArgumentException for other text. */
    static final class JsonReader {
        static final Pattern PLAIN = Pattern.compile("true|false|null|-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?");
        static final int DEPTH_MAX = 200;
        final String text;
        int at = 0;
        int depth = 0;

        JsonReader(String text) {
            this.text = text;
        }

        Json whole() {
            var value = value();
            if (next() != 0) throw wrong();
            return value;
        }

        Json value() {
            if (++depth > DEPTH_MAX) throw wrong();
            var first = next();
            var start = at;
            Object value = first == '{' ? members() : first == '[' ? items() : first == '"' ? string() : plain();
            depth--;
            return new Json(value, text.substring(start, at));
        }

        Map<String, Json> members() {
            var members = new LinkedHashMap<String, Json>();
            take('{');
            if (isTaken('}')) return members;
            do {
                var name = string();
                take(':');
                members.put(name, value());
            } while (isTaken(','));
            take('}');
            return members;
        }

        List<Json> items() {
            var items = new ArrayList<Json>();
            take('[');
            if (isTaken(']')) return items;
            do items.add(value());
            while (isTaken(','));
            take(']');
            return items;
        }

        String string() {
            take('"');
            var string = new StringBuilder();
            for (char letter; (letter = at < text.length() ? text.charAt(at++) : 0) != '"'; string.append(letter)) {
                if (letter < ' ') throw wrong();
                if (letter == '\\') letter = escaped();
            }
            return string.toString();
        }

        char escaped() {
            var which = at < text.length() ? "\"\\/bfnrtu".indexOf(text.charAt(at++)) : -1;
            if (which < 0 || which == 8 && at + 4 > text.length()) throw wrong();
            if (which < 8) return "\"\\/\b\f\n\r\t".charAt(which);
            at += 4;
            return (char) HexFormat.fromHexDigits(text, at - 4, at);
        }

        Object plain() {
            var plain = PLAIN.matcher(text).region(at, text.length());
            if (!plain.lookingAt()) throw wrong();
            at = plain.end();
            return null;
        }

        /** The next character after white space; 0 at the end. */
        char next() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
            return at < text.length() ? text.charAt(at) : 0;
        }

        boolean isTaken(char wanted) {
            var isThere = next() == wanted;
            if (isThere) at++;
            return isThere;
        }

        void take(char wanted) {
            if (!isTaken(wanted)) throw wrong();
        }

        IllegalArgumentException wrong() {
            return new IllegalArgumentException("no JSON at " + at);
        }
    }
}
