#!/usr/bin/env bash
# Reads one HTTP request of Sallyport's webhooks from standard input and writes the answer to standard output. Bash 4.4 or later
# with openssl, jq, gzip and GNU coreutils; gpg for encrypted deliveries; socat to listen.
#
#     receiver.sh < request.http     checks a stored request
#     receiver.sh serve              listens, and runs this program for each connection
#
# README.md in this folder has the settings and the order of the checks. Write your own handle. This program starts a process for each step
# of each request: good for debugging and for a few deliveries a minute, but not for many.
set -u
export LC_ALL=C # bytes, and names of days and months in English
umask 077

max_bytes=$((4 * 1024 * 1024)) # of a body, as received and once it is decoded
timeout_seconds=30
secrets=() api_keys=() pgp_keys=() public_keys=()
while IFS= read -r line; do [[ -z $line ]] || secrets+=("$line"); done <<<"${WEBHOOK_SECRETS-}"
while IFS= read -r line; do [[ -z $line ]] || api_keys+=("$line"); done <<<"${WEBHOOK_API_KEYS-}"
while IFS= read -r line; do [[ -z $line ]] || pgp_keys+=("$line"); done <<<"${WEBHOOK_PGP_KEYS-}"
# Ed25519 keys, whpk_ and Base64, which verify signatures v1a.
while IFS= read -r line; do [[ -z $line ]] || public_keys+=("$line"); done <<<"${WEBHOOK_PUBLIC_KEYS-}"

# Write this. Arguments: message id, event type, data in JSON. If it succeeds, the message counts as handled; otherwise the sender tries again.
handle() {
  printf '%s %s %s\n' "$1" "$2" "$3"
}

answer() { # status, text, a header
  printf 'HTTP/1.1 %s \r\nConnection: close\r\n' "$1"
  [[ -z ${3-} ]] || printf '%s\r\n' "$3"
  [[ $1 == 204 ]] || printf 'Content-Length: %s\r\n' "${#2}"
  printf '\r\n%s' "$2"
  exit 0
}

# verify:begin
refuse() { # status, code, sentence
  printf 'refused: %s: %s\n' "$2" "$3" >&2
  answer "$1" "$2: $3" "$([[ $1 == 405 ]] && echo 'Allow: POST' || echo 'WWW-Authenticate: HMAC-SHA256')"
}

# Sets content_hash to the hash that the body must have. Reads $target (path and query as sent) and headers (names in lower case).
verify() {
  local authorization=${headers[authorization]-} name names signature age message secret is_signed=no seen=';'
  [[ -n ${headers[authorization]+given} ]] || refuse 401 missing_authorization 'Authorization is missing'
  [[ $authorization == 'HMAC-SHA256 '* ]] || refuse 401 wrong_scheme 'the scheme of Authorization is not HMAC-SHA256'
  local form='^HMAC-SHA256 SignedHeaders=([a-z0-9-]+(;[a-z0-9-]+){0,15})&Signature=([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)$'
  [[ $authorization =~ $form ]] || refuse 401 malformed_authorization 'Authorization lacks SignedHeaders=a;b&Signature=c'
  IFS=';' read -ra names <<<"${BASH_REMATCH[1]}"
  signature=${BASH_REMATCH[3]}
  for name in "${names[@]}"; do
    [[ $seen != *";$name;"* ]] || refuse 401 malformed_authorization 'SignedHeaders has a name twice'
    seen+="$name;"
  done
  # Without the date, old requests could be replayed. Without the hash, bodies could be exchanged.
  for name in x-content-sha256 date; do
    [[ $seen == *";$name;"* ]] || refuse 401 unsigned_header "SignedHeaders lacks $name"
  done
  local values=()
  for name in "${names[@]}"; do
    [[ -n ${headers[$name]+given} ]] || refuse 401 missing_header "the signed header $name is missing"
    values+=("${headers[$name]}")
  done
  content_hash=${headers[x-content-sha256]}
  [[ $content_hash =~ ^[A-Za-z0-9+/]{43}=$ ]] || refuse 401 malformed_content_hash 'x-content-sha256 is not Base64 of 32 bytes'
  # The parser also accepts "yesterday", so the formatted result must be the same text.
  [[ $(date -u -d "${headers[date]}" '+%a, %d %b %Y %H:%M:%S GMT' 2>/dev/null) == "${headers[date]}" ]] ||
    refuse 401 malformed_date 'date is not as in Sat, 21 Nov 2026 05:00:00 GMT'
  age=$(($(date +%s) - $(date -u -d "${headers[date]}" +%s)))
  ((age <= 300)) || refuse 401 stale_date "date is $age s old, 300 s allowed"
  ((age >= -300)) || refuse 401 future_date "date is $((-age)) s ahead of this clock, 300 s allowed"
  message=$(printf 'POST\n%s\n' "${target,,}" && IFS=';' && printf '%s' "${values[*]}")
  for secret in "${secrets[@]}"; do
    ! same "$(sign "$secret" "$message")" "$signature" || is_signed=yes
  done
  [[ $is_signed == yes ]] || refuse 401 wrong_signature "none of the ${#secrets[@]} secrets signed this path and these headers"
}

sign() { # secret, message: the signature in Base64
  local key
  # The key is the decoded secret if it is Base64 with padding, otherwise the bytes of its text.
  if ((${#1} % 4 == 0)) && [[ $1 =~ ^[A-Za-z0-9+/]+={0,2}$ ]]; then
    key=$(printf '%s' "$1" | base64 -d | od -An -vtx1)
  else
    key=$(printf '%s' "$1" | od -An -vtx1)
  fi
  hmac "${key//[[:space:]]/}" "$2" | base64 -w 0
}

hmac() { # key in hexadecimal, message; RFC 2104 by hand, since every process list shows a key that is an argument of openssl's
  local key=$1 inner='' outer='' byte at
  ((${#key} <= 128)) || key=$(printf '%b' "$(sed 's/../\\x&/g' <<<"$key")" | sha256 | od -An -vtx1 | tr -d ' \n')
  for ((at = 0; at < 128; at += 2)); do
    byte=${key:at:2}
    printf -v inner '%s\\x%02x' "$inner" $((16#${byte:-0} ^ 0x36))
    printf -v outer '%s\\x%02x' "$outer" $((16#${byte:-0} ^ 0x5c))
  done
  { printf '%b' "$outer" && printf '%b%s' "$inner" "$2" | sha256; } | sha256
}

sha256() { openssl dgst -sha256 -binary; }

# Compares in constant time. Bash's own comparison ends at the first difference.
same() {
  local at left right difference=$((${#1} ^ ${#2}))
  for ((at = 0; at < ${#1}; at++)); do
    printf -v left %d "'${1:at:1}"
    printf -v right %d "'${2:at:1}"
    ((difference |= left ^ right))
  done
  ((difference == 0))
}

# Pass the bytes as received: a body that was parsed and serialized again has another hash.
check_hash() { # file
  [[ $(sha256 <"$1" | base64 -w 0) == "$content_hash" ]] ||
    refuse 400 wrong_content_hash "x-content-sha256 does not match the $(wc -c <"$1") bytes received"
}
# verify:end

# Checks that one of the public keys signed id, time and body (Standard Webhooks, v1a). Needs no secret.
verify_public() { # file
  local id=${headers[webhook-id]-} timestamp=${headers[webhook-timestamp]-} signatures=${headers[webhook-signature]-} age key text texts
  [[ -n $id && -n $timestamp && -n $signatures ]] ||
    refuse 401 missing_header 'webhook-id, webhook-timestamp or webhook-signature is missing'
  [[ $timestamp =~ ^[0-9]{1,12}$ ]] || refuse 401 malformed_timestamp 'webhook-timestamp is not digits only'
  age=$(($(date +%s) - 10#$timestamp))
  ((${age#-} <= 300)) || refuse 401 stale_timestamp "webhook-timestamp differs by ${age#-} s, 300 s allowed"
  { printf '%s.%s.' "$id" "$timestamp" && cat "$1"; } >"$work/message"
  read -ra texts <<<"$signatures"
  for text in "${texts[@]}"; do
    [[ $text =~ ^v1a,[A-Za-z0-9+/]{86}==$ ]] || continue
    base64 -d <<<"${text#v1a,}" >"$work/signature"
    for key in "${public_keys[@]}"; do
      # The DER of an Ed25519 public key up to its 32 bytes (RFC 8410), and these.
      { printf '\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00' && base64 -d <<<"${key#whpk_}"; } >"$work/key" 2>/dev/null
      ! openssl pkeyutl -verify -pubin -keyform DER -inkey "$work/key" -rawin -in "$work/message" \
        -sigfile "$work/signature" >/dev/null 2>&1 || return 0
    done
  done
  refuse 401 wrong_signature "none of the ${#public_keys[@]} public keys signed id, time and body"
}

read_head() {
  local line name value bytes=0
  declare -gA headers=()
  IFS= read -r -t "$timeout_seconds" -n 16384 line || exit 0
  [[ ${line%$'\r'} =~ ^([A-Z]+)\ ([^\ ]+)\ HTTP/1\.[01]$ ]] || refuse 400 malformed_request 'this is no request of HTTP/1.1'
  method=${BASH_REMATCH[1]} target=${BASH_REMATCH[2]}
  while IFS= read -r -t "$timeout_seconds" -n 16384 line && line=${line%$'\r'} && [[ -n $line ]]; do
    (((bytes += ${#line}) < 65536)) || refuse 431 too_large 'the headers have more than 65536 bytes'
    # Ignores other names, because bash would evaluate some of them as an index.
    [[ $line =~ ^([A-Za-z0-9-]+):[[:space:]]*(.*)$ ]] || continue
    name=${BASH_REMATCH[1],,} value=${BASH_REMATCH[2]}
    value=${value%"${value##*[![:space:]]}"}
    # Joins repeated headers, so that no single value is picked.
    headers[$name]=${headers[$name]+${headers[$name]}, }$value
  done
}

among() { # text, texts
  local one wanted=$1
  shift
  for one; do [[ $one != "$wanted" ]] || return 0; done
  return 1
}

# Sets media_type, here (the header that may say gzip) and elsewhere (the header that must be absent).
read_encoding() {
  local encrypted=${headers[x-content-encrypted]-true} given=${headers[content-type]-}
  media_type=application/json here=content-encoding elsewhere=x-original-encoding
  if [[ -n ${headers[x-content-encrypted]+given} ]]; then
    [[ $encrypted == true && -n ${headers[x-pgp-key-name]+given} ]] ||
      refuse 400 contradicting_headers 'x-content-encrypted is not true, or x-pgp-key-name is missing'
    media_type=application/octet-stream here=x-original-encoding elsewhere=content-encoding
  fi
  [[ ${given,,} =~ ^${media_type}[[:space:]]*(\;|$) ]] || refuse 400 unsupported_content_type "content-type is not $media_type"
  [[ -z ${headers[$elsewhere]+given} ]] || refuse 400 contradicting_headers "$elsewhere contradicts x-content-encrypted"
  given=${headers[$here]-gzip}
  [[ ${given,,} == gzip ]] || refuse 400 unsupported_encoding "$here is not gzip"
  [[ $media_type == application/json || ${#pgp_keys[@]} -gt 0 ]] ||
    refuse 500 no_decryption 'the body is encrypted and WEBHOOK_PGP_KEYS names no key'
}

decrypt() { # from, to
  among "${headers[x-pgp-key-name]}" "${pgp_keys[@]}" ||
    refuse 500 decryption_failed "no private key has the name ${headers[x-pgp-key-name]@Q}"
  # Never asks for a passphrase. The bound is for compressed data inside the PGP message. GnuPG also outputs messages
  # that were not encrypted, with exit status 0, but then without this line.
  gpg --batch --no-tty --pinentry-mode cancel --max-output $((max_bytes + 1)) --status-fd 3 --decrypt <"$1" >"$2" 3>"$work/status" \
    2>/dev/null && grep -qx '\[GNUPG:\] DECRYPTION_OKAY' "$work/status" ||
    refuse 500 decryption_failed 'the PGP message was changed, cut, or is not for a key that is here'
}

gunzip_bounded() { # from, to
  gzip -dc <"$1" 2>/dev/null | head -c $((max_bytes + 1)) >"$2" # of a bomb no more than that is made
  ((PIPESTATUS[0] == 0 || $(wc -c <"$2") > max_bytes)) ||
    refuse 400 malformed_gzip 'the body is not gzip, or is incomplete'
}

# Writes a line for each record: message id, event type, data in JSON. The ids become file names.
read_records() { # from, to
  { iconv -f UTF-8 -t UTF-8 "$1" && jq -se 'length == 1' "$1"; } >"$work/json" 2>&1 ||
    refuse 400 malformed_json 'the body is not JSON in UTF-8'
  jq -r '
    def text($form): if type == "string" and test($form) then . else error("not a string of the form \($form)") end;
    if ([.subscriptionId, .sessionId | text("")] | length) == 2 and (.records | type) == "array" then .records[].value
    else error("records is not a list") end |
    (.headers.messageId | text("^[A-Za-z0-9_-]{1,100}$")) as $id | (.headers.eventType | text("^[a-z0-9._-]{1,200}$")) as $type |
    ($type | gsub("[._-]+(?<next>.?)"; .next | ascii_upcase)) as $key | # employee.created, employeeCreated
    if has($key) then "\($id) \($type) \(.[$key] | tojson)" else error("there is no \($key)") end
  ' "$1" >"$2" 2>"$work/error" || refuse 400 malformed_envelope "the body is JSON of another kind: $(head -c 200 "$work/error")"
}

handle_once() { # file with a line for each record
  local id type json lock
  mkdir -p "$WEBHOOK_STATE/handled"
  # Handles one delivery at a time: after a timeout, the sender may repeat a delivery that is still being handled here.
  exec {lock}>"$WEBHOOK_STATE/lock"
  flock "$lock"
  while IFS=' ' read -r id type json; do
    [[ ! -e $WEBHOOK_STATE/handled/$id ]] || continue
    # Its output goes to the log, because standard output is for the answer.
    handle "$id" "$type" "$json" </dev/null >&2 || answer 500 'failed: see the log of the receiver'
    : >"$WEBHOOK_STATE/handled/$id"
  done <"$1"
}

receive() {
  local api_key is_known=no length
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  read_head
  [[ $method == POST ]] || refuse 405 wrong_method "the method is $method, not POST"
  for api_key in "${api_keys[@]}"; do
    ! same "$api_key" "${headers[x-api-key]-}" || is_known=yes
  done
  [[ $is_known == yes ]] || refuse 401 wrong_api_key 'x-api-key is missing or not the one agreed'
  if [[ -n ${headers[x-challenge-sha256]+given} ]]; then
    # Signs only tokens. Otherwise anyone could have any text signed.
    [[ ${headers[x-challenge-sha256]} =~ ^[A-Za-z0-9_-]{43}$ ]] ||
      refuse 401 malformed_challenge 'x-challenge-sha256 is not 43 characters of Base64url'
    ((${#secrets[@]} > 0)) || refuse 401 malformed_challenge 'there is no secret to answer a challenge with'
    answer 200 '' "x-challenge-sha256: $(sign "${secrets[0]}" "POST$target${headers[x-challenge-sha256]}")"
  fi
  ((${#secrets[@]} == 0)) || verify
  read_encoding
  length=${headers[content-length]-}
  [[ $length =~ ^[0-9]{1,12}$ ]] || refuse 411 length_required 'Content-Length is missing'
  ((10#$length <= max_bytes)) || refuse 413 too_large "the body has more than the $max_bytes bytes allowed"
  timeout "$timeout_seconds" head -c "$length" >"$work/body"
  ((${#secrets[@]} == 0)) || check_hash "$work/body"
  ((${#public_keys[@]} == 0)) || verify_public "$work/body"
  [[ $media_type == application/json ]] || { decrypt "$work/body" "$work/plain" && mv "$work/plain" "$work/body"; }
  [[ -z ${headers[$here]+given} ]] || { gunzip_bounded "$work/body" "$work/plain" && mv "$work/plain" "$work/body"; }
  (($(wc -c <"$work/body") <= max_bytes)) || refuse 413 too_large "the decoded body has more than the $max_bytes bytes allowed"
  read_records "$work/body" "$work/records"
  handle_once "$work/records"
  answer 204 ''
}

serve() {
  local address=${PORT:-3000},bind=${HOST:-127.0.0.1},fork,reuseaddr,max-children=16
  if [[ -n ${WEBHOOK_TLS_CERT_FILE-} ]]; then
    address=OPENSSL-LISTEN:$address,cert=$WEBHOOK_TLS_CERT_FILE,key=$WEBHOOK_TLS_KEY_FILE,verify=0,openssl-min-proto-version=TLS1.2
  else
    address=TCP-LISTEN:$address
  fi
  exec socat -d -d -T "$timeout_seconds" "$address" EXEC:"$BASH $(realpath "$0")"
}

if ((${#secrets[@]} + ${#public_keys[@]} == 0 || ${#api_keys[@]} == 0)) || [[ -z ${WEBHOOK_STATE-} ]]; then
  echo 'WEBHOOK_SECRETS and WEBHOOK_API_KEYS are needed, and WEBHOOK_STATE' >&2
  exit 1
fi
if [[ ${1-} == serve ]]; then serve; else receive; fi
