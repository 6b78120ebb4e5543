// Receives Sallyport's webhooks. .NET Core 3.1, .NET 5 or later without packages, behind a proxy that terminates TLS;
// GnuPG for encrypted deliveries. Signatures v1a need libsodium, such as the package libsodium: .NET has no Ed25519.
//
// README.md in this folder has the settings and the order of the checks. Write your own Handle.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.IO.Compression;
using System.Linq;
using System.Net;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using System.Threading.Tasks;

public static class Receiver
{
    static readonly string[] Secrets = LinesOf("WEBHOOK_SECRETS");
    static readonly string[] ApiKeys = LinesOf("WEBHOOK_API_KEYS");
    static readonly string[] PgpKeys = LinesOf("WEBHOOK_PGP_KEYS");
    static readonly string[] PublicKeys = LinesOf("WEBHOOK_PUBLIC_KEYS"); // Ed25519, whpk_ and Base64: for signatures v1a
    const int MaxBytes = 4 * 1024 * 1024; // of a body, as received and once it is decoded
    const int MessagesRemembered = 50_000;
    public static Func<DateTimeOffset> Now = () => DateTimeOffset.UtcNow;

    /// <summary>Write this. Once it returns, the message counts as handled. If it throws, the sender tries again.</summary>
    static void Handle(string messageId, string eventType, JsonElement data)
    {
        Console.WriteLine($"{messageId} {eventType} {data.GetRawText()}");
    }

    // verify:begin
    sealed class Refused : Exception
    {
        public readonly int Status;

        public Refused(int status, string code, string sentence) : base($"{code}: {sentence}")
        {
            Status = status;
        }
    }

    static void Check(bool holds, int status, string code, string sentence)
    {
        if (!holds) throw new Refused(status, code, sentence);
    }

    const int ToleranceSeconds = 300;
    static readonly Regex Authorization = new Regex(@"\AHMAC-SHA256 SignedHeaders=([a-z0-9-]+(?:;[a-z0-9-]+){0,15})"
        + @"&Signature=([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)\z", RegexOptions.CultureInvariant);

    /// <summary>
    /// Returns the hash that the body must have. `target` is path and query as sent. Header names are in lower case.
    /// </summary>
    static string Verify(string target, Dictionary<string, string> headers, string[] secrets, DateTimeOffset now)
    {
        Check(headers.TryGetValue("authorization", out var authorization), 401, "missing_authorization", "Authorization is missing");
        var isScheme = authorization.StartsWith("HMAC-SHA256 ", StringComparison.Ordinal);
        Check(isScheme, 401, "wrong_scheme", "the scheme of Authorization is not HMAC-SHA256");
        var match = Authorization.Match(authorization);
        Check(match.Success, 401, "malformed_authorization", "Authorization lacks SignedHeaders=a;b&Signature=c");
        var names = match.Groups[1].Value.Split(';');
        Check(names.Distinct().Count() == names.Length, 401, "malformed_authorization", "SignedHeaders has a name twice");
        // Without the date, old requests could be replayed. Without the hash, bodies could be exchanged.
        foreach (var name in new[] { "x-content-sha256", "date" })
            Check(names.Contains(name), 401, "unsigned_header", $"SignedHeaders lacks {name}");
        foreach (var name in names)
            Check(headers.ContainsKey(name), 401, "missing_header", $"the signed header {name} is missing");
        var contentHash = headers["x-content-sha256"];
        var isHash = Regex.IsMatch(contentHash, @"\A[A-Za-z0-9+/]{43}=\z");
        Check(isHash, 401, "malformed_content_hash", "x-content-sha256 is not Base64 of 32 bytes");
        var isDate = DateTimeOffset.TryParseExact(headers["date"], "r", CultureInfo.InvariantCulture,
            DateTimeStyles.AssumeUniversal, out var date) && date.ToString("r", CultureInfo.InvariantCulture) == headers["date"];
        Check(isDate, 401, "malformed_date", "date is not as in Sat, 21 Nov 2026 05:00:00 GMT");
        var age = now.ToUnixTimeSeconds() - date.ToUnixTimeSeconds();
        Check(age <= ToleranceSeconds, 401, "stale_date", $"date is {age} s old, {ToleranceSeconds} s allowed");
        Check(age >= -ToleranceSeconds, 401, "future_date", $"date is {-age} s ahead of this clock, {ToleranceSeconds} s allowed");
        var message = $"POST\n{target.ToLowerInvariant()}\n{string.Join(";", names.Select(name => headers[name]))}";
        var isSigned = false;
        foreach (var secret in secrets)
        {
            // Compares all of them in constant time, so that the time does not reveal which one matches.
            isSigned |= IsSame(Sign(secret, message), match.Groups[2].Value);
        }
        Check(isSigned, 401, "wrong_signature", $"none of the {secrets.Length} secrets signed this path and these headers");
        return contentHash;
    }

    static string Sign(string secret, string message)
    {
        // The key is the decoded secret if it is Base64 with padding, otherwise the bytes of its text.
        var isBase64 = secret.Length % 4 == 0 && Regex.IsMatch(secret, @"\A[A-Za-z0-9+/]+={0,2}\z");
        using (var hmac = new HMACSHA256(isBase64 ? Convert.FromBase64String(secret) : Encoding.UTF8.GetBytes(secret)))
            return Convert.ToBase64String(hmac.ComputeHash(Encoding.UTF8.GetBytes(message)));
    }

    static bool IsSame(string one, string other)
    {
        return CryptographicOperations.FixedTimeEquals(Encoding.UTF8.GetBytes(one), Encoding.UTF8.GetBytes(other));
    }

    /// <summary>Pass the bytes as received: a body that was parsed and serialized again has another hash.</summary>
    static void CheckHash(byte[] body, string contentHash)
    {
        using (var sha256 = SHA256.Create())
            Check(Convert.ToBase64String(sha256.ComputeHash(body)) == contentHash, 400, "wrong_content_hash",
                $"x-content-sha256 does not match the {body.Length} bytes received");
    }
    // verify:end

    [DllImport("libsodium", CallingConvention = CallingConvention.Cdecl)]
    static extern int sodium_init();

    [DllImport("libsodium", CallingConvention = CallingConvention.Cdecl)]
    static extern int crypto_sign_verify_detached(byte[] signature, byte[] message, ulong length, byte[] publicKey);

    /// <summary>Checks that one of the keys signed id, time and body (Standard Webhooks, v1a). Needs no secret.</summary>
    static void VerifyPublic(byte[] body, Dictionary<string, string> headers, string[] publicKeys, DateTimeOffset now)
    {
        foreach (var name in new[] { "webhook-id", "webhook-timestamp", "webhook-signature" })
            Check(headers.ContainsKey(name), 401, "missing_header", $"{name} is missing");
        var timestamp = headers["webhook-timestamp"];
        var isTime = Regex.IsMatch(timestamp, @"\A[0-9]{1,12}\z");
        Check(isTime, 401, "malformed_timestamp", "webhook-timestamp is not digits only");
        var age = Math.Abs(now.ToUnixTimeSeconds() - long.Parse(timestamp, CultureInfo.InvariantCulture));
        var isNow = age <= ToleranceSeconds;
        Check(isNow, 401, "stale_timestamp", $"webhook-timestamp differs by {age} s, {ToleranceSeconds} s allowed");
        var message = Encoding.UTF8.GetBytes($"{headers["webhook-id"]}.{timestamp}.").Concat(body).ToArray();
        var given = headers["webhook-signature"].Split(' ').Where(text => text.StartsWith("v1a,", StringComparison.Ordinal))
            .Select(text => BytesOf(text.Substring(4), 64)).Where(bytes => bytes != null).ToList();
        var keys = publicKeys.Select(key => BytesOf(Regex.Replace(key, @"\Awhpk_", ""), 32)).Where(bytes => bytes != null);
        var isSigned = keys.Any(key => given.Any(one => crypto_sign_verify_detached(one, message, (ulong)message.Length, key) == 0));
        Check(isSigned, 401, "wrong_signature", $"none of the {publicKeys.Length} public keys signed id, time and body");
    }

    /// <summary>Returns null unless the text is Base64 of this many bytes: libsodium does not know the lengths.</summary>
    static byte[] BytesOf(string base64, int length)
    {
        try
        {
            var bytes = Convert.FromBase64String(base64);
            return bytes.Length == length ? bytes : null;
        }
        catch (FormatException)
        {
            return null;
        }
    }

    /// <summary>Returns the answer to a token challenge, or null once a delivery is handled.</summary>
    static string Receive(string method, string target, Dictionary<string, string> headers, long announced, Stream stream)
    {
        Check(method == "POST", 405, "wrong_method", $"the method is {method}, not POST");
        var isKnown = false;
        foreach (var apiKey in ApiKeys) isKnown |= headers.TryGetValue("x-api-key", out var given) && IsSame(apiKey, given);
        Check(isKnown, 401, "wrong_api_key", "x-api-key is missing or not the one agreed");
        if (headers.TryGetValue("x-challenge-sha256", out var token))
        {
            // Signs only tokens. Otherwise anyone could have any text signed.
            var isToken = Regex.IsMatch(token, @"\A[A-Za-z0-9_-]{43}\z");
            Check(isToken, 401, "malformed_challenge", "x-challenge-sha256 is not 43 characters of Base64url");
            Check(Secrets.Length > 0, 401, "malformed_challenge", "there is no secret to answer a challenge with");
            return Sign(Secrets[0], $"POST{target}{token}");
        }
        var contentHash = Secrets.Length == 0 ? null : Verify(target, headers, Secrets, Now());
        var (keyName, isZipped) = ReadEncoding(headers);
        // If the length is announced, refuses without waiting for the body.
        var body = announced > MaxBytes ? null : ReadUpTo(MaxBytes + 1, stream);
        Check(body != null && body.Length <= MaxBytes, 413, "too_large", $"the body has more than the {MaxBytes} bytes allowed");
        if (contentHash != null) CheckHash(body, contentHash);
        if (PublicKeys.Length > 0) VerifyPublic(body, headers, PublicKeys, Now());
        if (keyName != null) body = Decrypt(body, keyName);
        if (isZipped) body = Gunzip(body);
        Check(body.Length <= MaxBytes, 413, "too_large", $"the decoded body has more than the {MaxBytes} bytes allowed");
        HandleOnce(ReadRecords(body));
        return null;
    }

    /// <summary>Returns the name of the key (null if the body is not encrypted), and whether the body is compressed.</summary>
    static (string keyName, bool isZipped) ReadEncoding(Dictionary<string, string> headers)
    {
        string keyName = null;
        var isEncrypted = headers.TryGetValue("x-content-encrypted", out var encrypted);
        var agrees = !isEncrypted || encrypted == "true" && headers.TryGetValue("x-pgp-key-name", out keyName);
        Check(agrees, 400, "contradicting_headers", "x-content-encrypted is not true, or x-pgp-key-name is missing");
        var (mediaType, here, elsewhere) = isEncrypted
            ? ("application/octet-stream", "x-original-encoding", "content-encoding")
            : ("application/json", "content-encoding", "x-original-encoding");
        headers.TryGetValue("content-type", out var given);
        var isType = (given ?? "").Split(';')[0].Trim().Equals(mediaType, StringComparison.OrdinalIgnoreCase);
        Check(isType, 400, "unsupported_content_type", $"content-type is not {mediaType}");
        Check(!headers.ContainsKey(elsewhere), 400, "contradicting_headers", $"{elsewhere} contradicts x-content-encrypted");
        var isZipped = headers.TryGetValue(here, out var encoding);
        var isGzip = !isZipped || encoding.Equals("gzip", StringComparison.OrdinalIgnoreCase);
        Check(isGzip, 400, "unsupported_encoding", $"{here} is not gzip");
        var canDecrypt = !isEncrypted || PgpKeys.Length > 0;
        Check(canDecrypt, 500, "no_decryption", "the body is encrypted and WEBHOOK_PGP_KEYS names no key");
        return (keyName, isZipped);
    }

    static byte[] Decrypt(byte[] message, string keyName)
    {
        Check(PgpKeys.Contains(keyName), 500, "decryption_failed", $"no private key has the name {keyName}");
        var file = Path.GetTempFileName();
        try
        {
            File.WriteAllBytes(file, message);
            var start = new ProcessStartInfo("gpg")
            {
                RedirectStandardInput = true, RedirectStandardOutput = true, RedirectStandardError = true, UseShellExecute = false,
            };
            // Never asks for a passphrase. The bound is for compressed data inside the PGP message.
            foreach (var argument in new[] { "--batch", "--no-tty", "--pinentry-mode", "cancel", "--max-output",
                $"{MaxBytes + 1}", "--status-fd", "2", "--decrypt", file }) start.ArgumentList.Add(argument);
            using (var gpg = Process.Start(start))
            {
                gpg.StandardInput.Close();
                var content = ReadUpTo(MaxBytes + 1, gpg.StandardOutput.BaseStream);
                var status = gpg.StandardError.ReadToEnd().Split('\n');
                gpg.WaitForExit();
                // GnuPG also outputs messages that were not encrypted, with exit status 0, but then without this line.
                var isDecrypted = gpg.ExitCode == 0 && status.Contains("[GNUPG:] DECRYPTION_OKAY");
                Check(isDecrypted, 500, "decryption_failed", "the PGP message was changed, cut, or is not for a key that is here");
                return content;
            }
        }
        finally
        {
            File.Delete(file);
        }
    }

    static byte[] Gunzip(byte[] packed)
    {
        try
        {
            using (var unzip = new GZipStream(new MemoryStream(packed), CompressionMode.Decompress))
            {
                var content = ReadUpTo(MaxBytes + 1, unzip); // of a bomb no more than that is made
                // The stream does not report truncation. The length at its end (RFC 1952) shows it.
                if (content.Length > MaxBytes || BitConverter.ToUInt32(packed, packed.Length - 4) == content.Length) return content;
            }
        }
        catch (InvalidDataException)
        {
            // Treated as truncated.
        }
        throw new Refused(400, "malformed_gzip", "the body is not gzip, or is incomplete");
    }

    static byte[] ReadUpTo(int bytes, Stream stream)
    {
        var content = new MemoryStream();
        var buffer = new byte[64 * 1024];
        for (int read; bytes > 0 && (read = stream.Read(buffer, 0, Math.Min(bytes, buffer.Length))) > 0; bytes -= read)
            content.Write(buffer, 0, read);
        return content.ToArray();
    }

    static List<(string messageId, string eventType, JsonElement data)> ReadRecords(byte[] body)
    {
        JsonElement envelope;
        try
        {
            // On its own, the parser would accept text that is not UTF-8.
            using (var document = JsonDocument.Parse(new UTF8Encoding(false, true).GetString(body)))
                envelope = document.RootElement.Clone();
        }
        catch (Exception error) when (error is JsonException || error is DecoderFallbackException)
        {
            throw new Refused(400, "malformed_json", "the body is not JSON in UTF-8");
        }
        Member(envelope, "subscriptionId", JsonValueKind.String);
        Member(envelope, "sessionId", JsonValueKind.String);
        return Member(envelope, "records", JsonValueKind.Array).EnumerateArray().Select(record =>
        {
            var value = Member(record, "value", JsonValueKind.Object);
            var headers = Member(value, "headers", JsonValueKind.Object);
            var eventType = Member(headers, "eventType", JsonValueKind.String).GetString();
            // The key of the data is the event type in camelCase: employee.created, employeeCreated.
            var key = Regex.Replace(eventType, "[._-]+(.?)", match => match.Groups[1].Value.ToUpperInvariant());
            return (Member(headers, "messageId", JsonValueKind.String).GetString(), eventType, Member(value, key, null));
        }).ToList();
    }

    static JsonElement Member(JsonElement of, string name, JsonValueKind? kind)
    {
        var member = default(JsonElement);
        var isThere = of.ValueKind == JsonValueKind.Object && of.TryGetProperty(name, out member)
            && (kind == null || member.ValueKind == kind);
        Check(isThere, 400, "malformed_envelope", $"the body is JSON of another kind: {name} is missing, or not of its type");
        return member;
    }

    static readonly HashSet<string> Handled = new HashSet<string>();
    static readonly Queue<string> Order = new Queue<string>();

    static void HandleOnce(List<(string messageId, string eventType, JsonElement data)> records)
    {
        // Handles one delivery at a time: after a timeout, the sender may repeat a delivery that is still being handled here.
        lock (Handled)
        {
            foreach (var record in records)
            {
                if (Handled.Contains(record.messageId)) continue;
                Handle(record.messageId, record.eventType, record.data);
                Handled.Add(record.messageId);
                Order.Enqueue(record.messageId);
                if (Order.Count > MessagesRemembered) Handled.Remove(Order.Dequeue());
            }
        }
    }

    static void Respond(HttpListenerContext context)
    {
        var (request, response) = (context.Request, context.Response);
        var text = "";
        try
        {
            // HttpListener keeps only the last of repeated headers.
            var headers = request.Headers.AllKeys.ToDictionary(name => name.ToLowerInvariant(), name => request.Headers[name]);
            var answer = Receive(request.HttpMethod, request.RawUrl, headers, request.ContentLength64, request.InputStream);
            response.StatusCode = answer == null ? 204 : 200;
            if (answer != null) response.Headers["x-challenge-sha256"] = answer;
        }
        catch (Refused refused)
        {
            Console.Error.WriteLine($"refused: {refused.Message}");
            (response.StatusCode, text) = (refused.Status, refused.Message);
            if (refused.Status == 405) response.Headers["Allow"] = "POST";
            else response.Headers["WWW-Authenticate"] = "HMAC-SHA256";
            response.KeepAlive = false;
        }
        catch (Exception error)
        {
            Console.Error.WriteLine(error);
            (response.StatusCode, text) = (500, "failed: see the log of the receiver"); // why is not the sender's business
        }
        try
        {
            response.Close(Encoding.UTF8.GetBytes(text), true);
        }
        catch (HttpListenerException)
        {
            // The sender has closed the connection.
        }
    }

    public static void Main()
    {
        if (Secrets.Length + PublicKeys.Length == 0 || ApiKeys.Length == 0)
        {
            Console.Error.WriteLine("WEBHOOK_SECRETS and WEBHOOK_API_KEYS are needed");
            Environment.Exit(1);
        }
        // Throws here if libsodium is missing, and not with the first delivery.
        if (PublicKeys.Length > 0 && sodium_init() < 0) throw new InvalidOperationException("libsodium cannot be used");
        var host = Environment.GetEnvironmentVariable("HOST") ?? "127.0.0.1";
        var port = Environment.GetEnvironmentVariable("PORT") ?? "3000";
        var listener = new HttpListener();
        // It answers 404 to any other Host. Configure the proxy to send this one, or accept any with HOST=*.
        listener.Prefixes.Add($"http://{host}:{port}/");
        listener.Start();
        Console.WriteLine($"listening on port {port}");
        while (true)
        {
            var context = listener.GetContext();
            Task.Run(() => Respond(context));
        }
    }

    static string[] LinesOf(string name)
    {
        return (Environment.GetEnvironmentVariable(name) ?? "").Split(new[] { '\n' }, StringSplitOptions.RemoveEmptyEntries);
    }
}
