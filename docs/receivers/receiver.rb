#!/usr/bin/env ruby
# frozen_string_literal: true

# Receives Sallyport's webhooks. Ruby 3.1 or later with the gem webrick, which was part of Ruby before 3.0; GnuPG for encrypted
# deliveries.
#
# README.md in this folder has the settings and the order of the checks. Write your own handle.
require 'digest'
require 'json'
require 'open3'
require 'openssl'
require 'time'
require 'webrick'
require 'webrick/https'
require 'zlib'

# The public keys are Ed25519, whpk_ and Base64, and verify signatures v1a.
SECRETS, API_KEYS, PGP_KEYS, PUBLIC_KEYS = %w[SECRETS API_KEYS PGP_KEYS PUBLIC_KEYS].map do |part|
  name = "WEBHOOK_#{part}"
  ENV.fetch(name, '').split("\n").reject(&:empty?)
end
MAX_BYTES = 4 * 1024 * 1024 # of a body, as received and once it is decoded
MESSAGES_REMEMBERED = 50_000
TIMEOUT_SECONDS = 30

# Write this. Once it returns, the message counts as handled. If it raises, the sender tries again.
def handle(message_id, event_type, data)
  puts "#{message_id} #{event_type} #{JSON.generate(data)}"
  $stdout.flush
end

# verify:begin
class Refused < StandardError
  attr_reader :status

  def initialize(status, code, sentence)
    super("#{code}: #{sentence}")
    @status = status
  end
end

def check(holds, status, code, sentence)
  raise Refused.new(status, code, sentence) unless holds
end

TOLERANCE_SECONDS = 300
AUTHORIZATION =
  %r{\AHMAC-SHA256 SignedHeaders=([a-z0-9-]+(?:;[a-z0-9-]+){0,15})&Signature=([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)\z}

# Returns the hash that the body must have. `target` is path and query as sent. Header names are in lower case.
def verify(target, headers, secrets, now)
  authorization = headers['authorization']
  check(authorization, 401, 'missing_authorization', 'Authorization is missing')
  check(authorization.start_with?('HMAC-SHA256 '), 401, 'wrong_scheme', 'the scheme of Authorization is not HMAC-SHA256')
  match = AUTHORIZATION.match(authorization)
  check(match, 401, 'malformed_authorization', 'Authorization lacks SignedHeaders=a;b&Signature=c')
  names = match[1].split(';')
  check(names.uniq == names, 401, 'malformed_authorization', 'SignedHeaders has a name twice')
  # Without the date, old requests could be replayed. Without the hash, bodies could be exchanged.
  %w[x-content-sha256 date].each do |name|
    check(names.include?(name), 401, 'unsigned_header', "SignedHeaders lacks #{name}")
  end
  names.each { |name| check(headers.key?(name), 401, 'missing_header', "the signed header #{name} is missing") }
  content_hash = headers['x-content-sha256']
  check(content_hash.match?(%r{\A[A-Za-z0-9+/]{43}=\z}), 401, 'malformed_content_hash',
        'x-content-sha256 is not Base64 of 32 bytes')
  age = now.to_i - seconds_of(headers['date'])
  allowed = "#{TOLERANCE_SECONDS} s allowed"
  check(age <= TOLERANCE_SECONDS, 401, 'stale_date', "date is #{age} s old, #{allowed}")
  check(age >= -TOLERANCE_SECONDS, 401, 'future_date', "date is #{-age} s ahead of this clock, #{allowed}")
  message = "POST\n#{target.downcase}\n#{headers.values_at(*names).join(';')}"
  # Compares all of them in constant time, so that the time does not reveal which one matches.
  matches = secrets.map { |secret| OpenSSL.secure_compare(sign(secret, message), match[2]) }
  check(matches.any?, 401, 'wrong_signature', "none of the #{secrets.size} secrets signed this path and these headers")
  content_hash
end

def sign(secret, message)
  # The key is the decoded secret if it is Base64 with padding, otherwise the bytes of its text.
  is_base64 = (secret.length % 4).zero? && secret.match?(%r{\A[A-Za-z0-9+/]+={0,2}\z})
  key = is_base64 ? secret.unpack1('m') : secret
  [OpenSSL::HMAC.digest('SHA256', key, message)].pack('m0')
end

def seconds_of(date)
  time = Time.httpdate(date)
  # The parser accepts two older formats and days that do not exist, but formats only this one.
  raise ArgumentError unless time.httpdate == date

  time.to_i
rescue ArgumentError
  raise Refused.new(401, 'malformed_date', 'date is not as in Sat, 21 Nov 2026 05:00:00 GMT')
end

# Pass the bytes as received: a body that was parsed and serialized again has another hash.
def check_hash(body, content_hash)
  check([Digest::SHA256.digest(body)].pack('m0') == content_hash, 400, 'wrong_content_hash',
        "x-content-sha256 does not match the #{body.bytesize} bytes received")
end
# verify:end

# The DER of an Ed25519 public key up to its 32 bytes (RFC 8410).
PUBLIC_KEY_HEAD = ['302a300506032b6570032100'].pack('H*')

# Checks that one of the keys signed id, time and body (Standard Webhooks, v1a). Needs no secret.
def verify_public(body, headers, public_keys, now)
  id, timestamp, signatures = headers.values_at('webhook-id', 'webhook-timestamp', 'webhook-signature')
  check(id && timestamp && signatures, 401, 'missing_header', 'webhook-id, webhook-timestamp or webhook-signature is missing')
  check(timestamp.match?(/\A[0-9]{1,12}\z/), 401, 'malformed_timestamp', 'webhook-timestamp is not digits only')
  age = (now.to_i - timestamp.to_i).abs
  check(age <= TOLERANCE_SECONDS, 401, 'stale_timestamp',
        "webhook-timestamp differs by #{age} s, #{TOLERANCE_SECONDS} s allowed")
  message = "#{id}.#{timestamp}.".b + body.b
  given = signatures.split.filter_map { |text| text.delete_prefix('v1a,').unpack1('m') if text.start_with?('v1a,') }
  is_signed = public_keys.any? { |key| given.any? { |signature| signed_by?(key, signature, message) } }
  check(is_signed, 401, 'wrong_signature', "none of the #{public_keys.size} public keys signed id, time and body")
end

def signed_by?(public_key, signature, message)
  key = OpenSSL::PKey.read(PUBLIC_KEY_HEAD + public_key.delete_prefix('whpk_').unpack1('m'))
  key.verify(nil, signature, message)
rescue OpenSSL::PKey::PKeyError
  false # no key or signature of Ed25519
end

# Returns the answer to a token challenge, or nil once a delivery is handled.
def receive(request)
  check(request.request_method == 'POST', 405, 'wrong_method', "the method is #{request.request_method}, not POST")
  # Joins repeated headers, so that no single value is picked.
  headers = request.header.transform_values { |values| values.join(', ') }
  matches = API_KEYS.map { |api_key| OpenSSL.secure_compare(api_key, headers.fetch('x-api-key', '')) }
  check(matches.any?, 401, 'wrong_api_key', 'x-api-key is missing or not the one agreed')
  target = request.request_line.split[1] # unparsed_uri has lost a second slash at its beginning
  return answer_challenge(target, headers['x-challenge-sha256']) if headers.key?('x-challenge-sha256')

  content_hash = SECRETS.empty? ? nil : verify(target, headers, SECRETS, Time.now)
  key_name, is_zipped = read_encoding(headers)
  body = read_body(request)
  check_hash(body, content_hash) if content_hash
  verify_public(body, headers, PUBLIC_KEYS, Time.now) unless PUBLIC_KEYS.empty?
  body = decrypt(body, key_name) if key_name
  body = gunzip(body) if is_zipped
  check(body.bytesize <= MAX_BYTES, 413, 'too_large', "the decoded body has more than the #{MAX_BYTES} bytes allowed")
  handle_once(read_records(body))
end

def answer_challenge(target, token)
  # Signs only tokens. Otherwise anyone could have any text signed.
  check(token.match?(/\A[A-Za-z0-9_-]{43}\z/), 401, 'malformed_challenge',
        'x-challenge-sha256 is not 43 characters of Base64url')
  check(SECRETS.any?, 401, 'malformed_challenge', 'there is no secret to answer a challenge with')
  sign(SECRETS.first, "POST#{target}#{token}")
end

# Returns the name of the key (nil if the body is not encrypted), and whether the body is compressed.
def read_encoding(headers)
  encrypted = headers['x-content-encrypted']
  key_name = headers['x-pgp-key-name'] if encrypted
  check(encrypted.nil? || (encrypted == 'true' && key_name), 400, 'contradicting_headers',
        'x-content-encrypted is not true, or x-pgp-key-name is missing')
  media_type, here, elsewhere = %w[application/json content-encoding x-original-encoding]
  media_type, here, elsewhere = %w[application/octet-stream x-original-encoding content-encoding] if encrypted
  given = headers.fetch('content-type', '').split(';').first.to_s.strip
  check(given.downcase == media_type, 400, 'unsupported_content_type', "content-type is not #{media_type}")
  check(!headers.key?(elsewhere), 400, 'contradicting_headers', "#{elsewhere} contradicts x-content-encrypted")
  check(headers.fetch(here, 'gzip').downcase == 'gzip', 400, 'unsupported_encoding', "#{here} is not gzip")
  check(encrypted.nil? || PGP_KEYS.any?, 500, 'no_decryption', 'the body is encrypted and WEBHOOK_PGP_KEYS names no key')
  [key_name, headers.key?(here)]
end

def read_body(request)
  too_large = "the body has more than the #{MAX_BYTES} bytes allowed"
  check(request.content_length <= MAX_BYTES, 413, 'too_large', too_large)
  body = String.new(encoding: Encoding::BINARY)
  request.body do |chunk|
    body << chunk
    check(body.bytesize <= MAX_BYTES, 413, 'too_large', too_large)
  end
  body
end

def decrypt(message, key_name)
  check(PGP_KEYS.include?(key_name), 500, 'decryption_failed', "no private key has the name #{key_name.inspect}")
  # Never asks for a passphrase. The bound is for compressed data inside the PGP message.
  command = %w[gpg --batch --no-tty --pinentry-mode cancel --status-fd 2 --max-output] + [(MAX_BYTES + 1).to_s, '--decrypt']
  content, status, exit = Open3.capture3(*command, stdin_data: message, binmode: true)
  # GnuPG also outputs messages that were not encrypted, with exit status 0, but then without this line.
  is_decrypted = exit.success? && status.lines(chomp: true).include?('[GNUPG:] DECRYPTION_OKAY')
  check(is_decrypted, 500, 'decryption_failed', 'the PGP message was changed, cut, or is not for a key that is here')
  content
end

def gunzip(packed)
  unzip = Zlib::Inflate.new(Zlib::MAX_WBITS + 16)
  content = String.new(encoding: Encoding::BINARY)
  unzip.inflate(packed) do |chunk|
    content << chunk
    return content if content.bytesize > MAX_BYTES # of a bomb no more than that is made
  end
  raise Zlib::BufError unless unzip.finished?

  content
rescue Zlib::Error
  raise Refused.new(400, 'malformed_gzip', 'the body is not gzip, or is incomplete')
ensure
  unzip&.close
end

def read_records(body)
  text = body.dup.force_encoding(Encoding::UTF_8)
  raise JSON::ParserError unless text.valid_encoding?

  envelope = JSON.parse(text)
  strings(envelope, 'subscriptionId', 'sessionId')
  envelope.fetch('records').to_ary.map { |record| read_record(record.to_hash.fetch('value').to_hash) }
rescue JSON::ParserError
  raise Refused.new(400, 'malformed_json', 'the body is not JSON in UTF-8')
rescue KeyError, NoMethodError => e
  raise Refused.new(400, 'malformed_envelope', "the body is JSON of another kind: #{e.message.lines.first}")
end

def read_record(value)
  message_id, event_type = strings(value.fetch('headers'), 'messageId', 'eventType')
  # The key of the data is the event type in camelCase: employee.created, employeeCreated.
  [message_id, event_type, value.fetch(event_type.gsub(/[._-]+(.?)/) { Regexp.last_match(1).upcase })]
end

def strings(object, *names)
  names.map { |name| object.to_hash.fetch(name).to_str }
end

HANDLED = {}
HANDLING = Mutex.new

# Handles one delivery at a time: after a timeout, the sender may repeat a delivery that is still being handled here.
def handle_once(records)
  HANDLING.synchronize do
    records.each do |message_id, event_type, data|
      next if HANDLED.key?(message_id)

      handle(message_id, event_type, data)
      HANDLED[message_id] = true
      HANDLED.shift if HANDLED.size > MESSAGES_REMEMBERED
    end
  end
  nil
end

def respond(request, response)
  answer = receive(request)
  response.status = answer ? 200 : 204
  response['x-challenge-sha256'] = answer if answer
rescue WEBrick::HTTPStatus::Status
  raise # a body that was cut, or without a length: WEBrick answers
rescue Refused => e
  warn "refused: #{e.message}"
  refuse(response, e.status, e.message)
  response['Allow'] = 'POST'
  response['WWW-Authenticate'] = 'HMAC-SHA256'
rescue StandardError => e
  warn e.full_message
  refuse(response, 500, 'failed: see the log of the receiver') # why is not the sender's business
end

def refuse(response, status, text)
  response.status = status
  response.body = text
  # Otherwise it would read the rest of the body before it answers.
  response.keep_alive = false
end

abort 'WEBHOOK_SECRETS and WEBHOOK_API_KEYS are needed' if (SECRETS + PUBLIC_KEYS).empty? || API_KEYS.empty?

tls = {}
if ENV.key?('WEBHOOK_TLS_CERT_FILE')
  certificate, *chain = OpenSSL::X509::Certificate.load_file(ENV['WEBHOOK_TLS_CERT_FILE'])
  key = OpenSSL::PKey.read(File.read(ENV.fetch('WEBHOOK_TLS_KEY_FILE')))
  tls = { SSLEnable: true, SSLCertificate: certificate, SSLExtraChainCert: chain, SSLPrivateKey: key }
end
server = WEBrick::HTTPServer.new(
  BindAddress: ENV.fetch('HOST', '127.0.0.1'), Port: ENV.fetch('PORT', '3000').to_i, RequestTimeout: TIMEOUT_SECONDS,
  Logger: WEBrick::Log.new($stderr, WEBrick::Log::WARN), AccessLog: [], **tls
)
server.mount_proc('/') { |request, response| respond(request, response) }
%w[INT TERM].each { |signal| trap(signal) { server.shutdown } }
puts "listening on port #{server.listeners.first.addr[1]}"
$stdout.flush
server.start
