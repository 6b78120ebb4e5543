<?php

// Receives Sallyport's webhooks. PHP 8.1 or later with pdo_sqlite, behind a proxy that terminates TLS; GnuPG for encrypted
// deliveries. To try it: php -S 127.0.0.1:3000 receiver.php
//
// README.md in this folder has the settings and the order of the checks. Write your own handle().

declare(strict_types=1);

namespace Sallyport;

const MAX_BYTES = 4 * 1024 * 1024; // of a body, as received and once it is decoded
const MESSAGES_REMEMBERED = 50_000;

/** Write this. Once it returns, the message counts as handled. If it throws, the sender tries again. */
function handle(string $messageId, string $eventType, mixed $data): void
{
    error_log("$messageId $eventType " . json_encode($data));
}

// verify:begin
final class Refused extends \Exception
{
    public function __construct(public readonly int $status, string $code, string $sentence)
    {
        parent::__construct("$code: $sentence");
    }
}

function check(bool $holds, int $status, string $code, string $sentence): void
{
    if (!$holds) {
        throw new Refused($status, $code, $sentence);
    }
}

const TOLERANCE_SECONDS = 300;
const AUTHORIZATION =
    '~\AHMAC-SHA256 SignedHeaders=([a-z0-9-]+(?:;[a-z0-9-]+){0,15})&Signature=([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)\z~';
const DATE = 'D, d M Y H:i:s \G\M\T';

/** Returns the hash that the body must have. $target is path and query as sent. Header names are in lower case. */
function verify(string $target, array $headers, array $secrets, int $now): string
{
    $authorization = $headers['authorization'] ?? null;
    check($authorization !== null, 401, 'missing_authorization', 'Authorization is missing');
    $isScheme = str_starts_with($authorization, 'HMAC-SHA256 ');
    check($isScheme, 401, 'wrong_scheme', 'the scheme of Authorization is not HMAC-SHA256');
    $isForm = preg_match(AUTHORIZATION, $authorization, $match) === 1;
    check($isForm, 401, 'malformed_authorization', 'Authorization lacks SignedHeaders=a;b&Signature=c');
    $names = explode(';', $match[1]);
    check(array_unique($names) === $names, 401, 'malformed_authorization', 'SignedHeaders has a name twice');
    // Without the date, old requests could be replayed. Without the hash, bodies could be exchanged.
    foreach (['x-content-sha256', 'date'] as $name) {
        check(in_array($name, $names, true), 401, 'unsigned_header', "SignedHeaders lacks $name");
    }
    foreach ($names as $name) {
        check(isset($headers[$name]), 401, 'missing_header', "the signed header $name is missing");
    }
    $contentHash = $headers['x-content-sha256'];
    $isHash = preg_match('~\A[A-Za-z0-9+/]{43}=\z~', $contentHash) === 1;
    check($isHash, 401, 'malformed_content_hash', 'x-content-sha256 is not Base64 of 32 bytes');
    $date = \DateTimeImmutable::createFromFormat('!' . DATE, $headers['date'], new \DateTimeZone('UTC'));
    // The parser accepts days that do not exist, so the formatted result must be the same text.
    $isDate = $date !== false && $date->format(DATE) === $headers['date'];
    check($isDate, 401, 'malformed_date', 'date is not as in Sat, 21 Nov 2026 05:00:00 GMT');
    $age = $now - $date->getTimestamp();
    $allowed = TOLERANCE_SECONDS . ' s allowed';
    check($age <= TOLERANCE_SECONDS, 401, 'stale_date', "date is $age s old, $allowed");
    check($age >= -TOLERANCE_SECONDS, 401, 'future_date', 'date is ' . -$age . " s ahead of this clock, $allowed");
    $values = implode(';', array_map(fn (string $name): string => $headers[$name], $names));
    $message = "POST\n" . strtolower($target) . "\n$values";
    $isSigned = false;
    foreach ($secrets as $secret) {
        // Compares all of them in constant time, so that the time does not reveal which one matches.
        $matches = hash_equals(sign($secret, $message), $match[2]);
        $isSigned = $isSigned || $matches;
    }
    check($isSigned, 401, 'wrong_signature', 'none of the ' . count($secrets) . ' secrets signed this path and these headers');
    return $contentHash;
}

function sign(string $secret, string $message): string
{
    // The key is the decoded secret if it is Base64 with padding, otherwise the bytes of its text.
    $isBase64 = strlen($secret) % 4 === 0 && preg_match('~\A[A-Za-z0-9+/]+={0,2}\z~', $secret) === 1;
    return base64_encode(hash_hmac('sha256', $message, $isBase64 ? base64_decode($secret) : $secret, true));
}

/** Pass the bytes as received: a body that was parsed and serialized again has another hash. */
function checkHash(string $body, string $contentHash): void
{
    $isSame = base64_encode(hash('sha256', $body, true)) === $contentHash;
    check($isSame, 400, 'wrong_content_hash', 'x-content-sha256 does not match the ' . strlen($body) . ' bytes received');
}
// verify:end

/** Checks that one of the keys signed id, time and body (Standard Webhooks, v1a). Needs no secret, but the extension sodium of PHP. */
function verifyPublic(string $body, array $headers, array $publicKeys, int $now): void
{
    $names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
    [$id, $timestamp, $signatures] = array_map(fn (string $name): string => $headers[$name] ?? '', $names);
    check(!in_array('', [$id, $timestamp, $signatures], true), 401, 'missing_header', 'one of ' . implode(', ', $names) . ' is missing');
    $isDigits = preg_match('~\A[0-9]{1,12}\z~', $timestamp) === 1;
    check($isDigits, 401, 'malformed_timestamp', 'webhook-timestamp is not digits only');
    $age = abs($now - (int) $timestamp);
    $allowed = TOLERANCE_SECONDS . ' s allowed';
    check($age <= TOLERANCE_SECONDS, 401, 'stale_timestamp', "webhook-timestamp differs by $age s, $allowed");
    foreach (explode(' ', $signatures) as $text) {
        $signature = str_starts_with($text, 'v1a,') ? (string) base64_decode(substr($text, 4), true) : '';
        foreach ($publicKeys as $publicKey) {
            $key = (string) base64_decode(preg_replace('~\Awhpk_~', '', $publicKey), true);
            // Other lengths would throw.
            $isForm = strlen($signature) === SODIUM_CRYPTO_SIGN_BYTES && strlen($key) === SODIUM_CRYPTO_SIGN_PUBLICKEYBYTES;
            if ($isForm && sodium_crypto_sign_verify_detached($signature, "$id.$timestamp.$body", $key)) {
                return;
            }
        }
    }
    throw new Refused(401, 'wrong_signature', 'none of the ' . count($publicKeys) . ' public keys signed id, time and body');
}

/** Returns the answer to a token challenge, or null once a delivery is handled. */
function receive(string $method, string $target, array $headers): ?string
{
    [$secrets, $apiKeys, $pgpKeys] = array_map(linesOf(...), ['WEBHOOK_SECRETS', 'WEBHOOK_API_KEYS', 'WEBHOOK_PGP_KEYS']);
    $publicKeys = linesOf('WEBHOOK_PUBLIC_KEYS'); // Ed25519, whpk_ and Base64: for signatures v1a
    if (($secrets === [] && $publicKeys === []) || $apiKeys === [] || getenv('WEBHOOK_STATE') === false) {
        throw new \Exception('WEBHOOK_SECRETS and WEBHOOK_API_KEYS are needed, and WEBHOOK_STATE');
    }
    check($method === 'POST', 405, 'wrong_method', "the method is $method, not POST");
    $isKnown = false;
    foreach ($apiKeys as $apiKey) {
        $matches = hash_equals($apiKey, $headers['x-api-key'] ?? '');
        $isKnown = $isKnown || $matches;
    }
    check($isKnown, 401, 'wrong_api_key', 'x-api-key is missing or not the one agreed');
    $token = $headers['x-challenge-sha256'] ?? null;
    if ($token !== null) {
        // Signs only tokens. Otherwise anyone could have any text signed.
        $isToken = preg_match('~\A[A-Za-z0-9_-]{43}\z~', $token) === 1;
        check($isToken, 401, 'malformed_challenge', 'x-challenge-sha256 is not 43 characters of Base64url');
        check($secrets !== [], 401, 'malformed_challenge', 'there is no secret to answer a challenge with');
        return sign($secrets[0], "POST$target$token");
    }
    $contentHash = $secrets === [] ? null : verify($target, $headers, $secrets, time());
    [$keyName, $isZipped] = readEncoding($headers, $pgpKeys);
    $body = stream_get_contents(fopen('php://input', 'rb'), MAX_BYTES + 1);
    check(strlen($body) <= MAX_BYTES, 413, 'too_large', 'the body has more than the ' . MAX_BYTES . ' bytes allowed');
    if ($contentHash !== null) {
        checkHash($body, $contentHash);
    }
    if ($publicKeys !== []) {
        verifyPublic($body, $headers, $publicKeys, time());
    }
    if ($keyName !== null) {
        check(in_array($keyName, $pgpKeys, true), 500, 'decryption_failed', "no private key has the name $keyName");
        $body = decrypt($body);
    }
    $body = $isZipped ? gunzip($body) : $body;
    check(strlen($body) <= MAX_BYTES, 413, 'too_large', 'the decoded body has more than the ' . MAX_BYTES . ' bytes allowed');
    handleOnce(readRecords($body));
    return null;
}

/** Returns the name of the key (null if the body is not encrypted), and whether the body is compressed. */
function readEncoding(array $headers, array $pgpKeys): array
{
    $encrypted = $headers['x-content-encrypted'] ?? null;
    $keyName = $encrypted === null ? null : $headers['x-pgp-key-name'] ?? null;
    $agrees = $encrypted === null || ($encrypted === 'true' && $keyName !== null);
    check($agrees, 400, 'contradicting_headers', 'x-content-encrypted is not true, or x-pgp-key-name is missing');
    [$mediaType, $here, $elsewhere] = $encrypted === null
        ? ['application/json', 'content-encoding', 'x-original-encoding']
        : ['application/octet-stream', 'x-original-encoding', 'content-encoding'];
    $given = strtolower(trim(explode(';', $headers['content-type'] ?? '')[0]));
    check($given === $mediaType, 400, 'unsupported_content_type', "content-type is not $mediaType");
    check(!isset($headers[$elsewhere]), 400, 'contradicting_headers', "$elsewhere contradicts x-content-encrypted");
    $isGzip = strtolower($headers[$here] ?? 'gzip') === 'gzip';
    check($isGzip, 400, 'unsupported_encoding', "$here is not gzip");
    $canDecrypt = $encrypted === null || $pgpKeys !== [];
    check($canDecrypt, 500, 'no_decryption', 'the body is encrypted and WEBHOOK_PGP_KEYS names no key');
    return [$keyName, isset($headers[$here])];
}

function decrypt(string $message): string
{
    $file = tmpfile();
    fwrite($file, $message);
    // Never asks for a passphrase. The bound is for compressed data inside the PGP message.
    $command = ['gpg', '--batch', '--no-tty', '--pinentry-mode', 'cancel', '--max-output', (string) (MAX_BYTES + 1),
        '--status-fd', '2', '--decrypt', stream_get_meta_data($file)['uri']];
    $gpg = proc_open($command, [['file', '/dev/null', 'r'], ['pipe', 'w'], ['pipe', 'w']], $pipes);
    [$content, $status] = [stream_get_contents($pipes[1]), stream_get_contents($pipes[2])];
    // GnuPG also outputs messages that were not encrypted, with exit status 0, but then without this line.
    $isDecrypted = proc_close($gpg) === 0 && preg_match('/^\[GNUPG:\] DECRYPTION_OKAY$/m', $status) === 1;
    $sentence = 'the PGP message was changed, cut, or is not for a key that is here';
    check($isDecrypted, 500, 'decryption_failed', $sentence);
    return $content;
}

function gunzip(string $packed): string
{
    $unzip = inflate_init(ZLIB_ENCODING_GZIP);
    $content = '';
    // In pieces, so that a zip bomb produces at most the bound and the content of one piece.
    foreach (str_split($packed, 1024) as $piece) {
        $part = @inflate_add($unzip, $piece);
        $content .= (string) $part;
        if ($part === false || strlen($content) > MAX_BYTES) {
            break;
        }
    }
    $isWhole = inflate_get_status($unzip) === ZLIB_STREAM_END || strlen($content) > MAX_BYTES;
    check($isWhole, 400, 'malformed_gzip', 'the body is not gzip, or is incomplete');
    return $content;
}

/** Returns lists of message id, event type and data. */
function readRecords(string $body): array
{
    try {
        $envelope = json_decode($body, flags: JSON_THROW_ON_ERROR);
    } catch (\JsonException) {
        throw new Refused(400, 'malformed_json', 'the body is not JSON in UTF-8');
    }
    $isText = fn (string $name): bool => is_string($envelope->$name ?? null);
    $isEnvelope = is_object($envelope) && $isText('subscriptionId') && $isText('sessionId') && is_array($envelope->records ?? null);
    check($isEnvelope, 400, 'malformed_envelope', 'the body is JSON of another kind, or lacks subscriptionId, sessionId or records');
    return array_map(function (mixed $record): array {
        $value = $record->value ?? null;
        [$messageId, $eventType] = [$value->headers->messageId ?? null, $value->headers->eventType ?? null];
        $isRecord = is_string($messageId) && is_string($eventType);
        check($isRecord, 400, 'malformed_envelope', 'value.headers of a record lacks messageId or eventType');
        // The key of the data is the event type in camelCase: employee.created, employeeCreated.
        $key = preg_replace_callback('/[._-]+(.?)/', fn (array $match): string => strtoupper($match[1]), $eventType);
        check(property_exists($value, $key), 400, 'malformed_envelope', "value of a record lacks $key");
        return [$messageId, $eventType, $value->$key];
    }, $envelope->records);
}

/** It is best to remember messages in your own database, in the transaction of handle(). */
function handleOnce(array $records): void
{
    $database = new \PDO('sqlite:' . getenv('WEBHOOK_STATE') . '/handled.sqlite');
    $database->exec('CREATE TABLE IF NOT EXISTS handled (message_id TEXT PRIMARY KEY)');
    foreach ($records as [$messageId, $eventType, $data]) {
        // Handles one delivery at a time: after a timeout, the sender may repeat a delivery that is still being handled here.
        $database->exec('BEGIN IMMEDIATE');
        $remember = $database->prepare('INSERT OR IGNORE INTO handled (message_id) VALUES (?)');
        $remember->execute([$messageId]);
        if ($remember->rowCount() === 1) {
            handle($messageId, $eventType, $data);
        }
        $database->exec('DELETE FROM handled WHERE rowid <= (SELECT max(rowid) FROM handled) - ' . MESSAGES_REMEMBERED);
        $database->exec('COMMIT');
    }
}

function linesOf(string $name): array
{
    return array_values(array_filter(explode("\n", (string) getenv($name)), fn (string $line): bool => $line !== ''));
}

function respond(): void
{
    [$status, $text] = [204, ''];
    try {
        // PHP's own server has joined repeated headers, so that no single value is picked.
        $headers = array_change_key_case(getallheaders(), CASE_LOWER);
        $answer = receive($_SERVER['REQUEST_METHOD'], $_SERVER['REQUEST_URI'], $headers);
        if ($answer !== null) {
            $status = 200;
            header("x-challenge-sha256: $answer");
        }
    } catch (Refused $refused) {
        [$status, $text] = [$refused->status, $refused->getMessage()];
        error_log("refused: $text");
        header('Allow: POST');
        header('WWW-Authenticate: HMAC-SHA256');
    } catch (\Throwable $error) {
        [$status, $text] = [500, 'failed: see the log of the receiver']; // why is not the sender's business
        error_log((string) $error);
    }
    http_response_code($status);
    header('Content-Type: text/plain; charset=utf-8');
    echo $text;
}

respond();
