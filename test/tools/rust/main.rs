// Verifies deliveries with the official Rust library of Standard Webhooks. Reads a JSON list of {secret, body, headers} and writes a JSON
// list: null if the library accepts the delivery, otherwise its error.
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use standardwebhooks::Webhook;
use std::error::Error;

fn verify(message: &Value) -> Result<(), Box<dyn Error>> {
    let mut headers = HeaderMap::new();
    for (name, value) in message["headers"].as_object().ok_or("no headers")? {
        let value = HeaderValue::from_str(value.as_str().ok_or("no value")?)?;
        headers.insert(HeaderName::from_bytes(name.as_bytes())?, value);
    }
    let secret = message["secret"].as_str().ok_or("no secret")?;
    let body = message["body"].as_str().ok_or("no body")?;
    Ok(Webhook::new(secret)?.verify(body.as_bytes(), &headers)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let messages: Vec<Value> = serde_json::from_reader(std::io::stdin())?;
    let results: Vec<Option<String>> = messages
        .iter()
        .map(|message| verify(message).err().map(|error| error.to_string()))
        .collect();
    println!("{}", serde_json::to_string(&results)?);
    Ok(())
}
