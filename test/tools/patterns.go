// Compiles patterns and tries each on samples: patterns <file>, a JSON object with `patterns` and `samples`.
// Prints, by pattern and sample, whether the pattern is found. A pattern that Go refuses ends it with an error.
package main

import (
	"encoding/json"
	"log"
	"os"
	"regexp"
)

func main() {
	var asked struct{ Patterns, Samples []string }
	content, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := json.Unmarshal(content, &asked); err != nil {
		log.Fatal(err)
	}
	found := make([][]bool, 0, len(asked.Patterns))
	for _, pattern := range asked.Patterns {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			log.Fatal(err)
		}
		row := make([]bool, 0, len(asked.Samples))
		for _, sample := range asked.Samples {
			row = append(row, compiled.MatchString(sample))
		}
		found = append(found, row)
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		log.Fatal(err)
	}
}
