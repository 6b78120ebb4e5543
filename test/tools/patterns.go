// Compiles patterns and matches each against samples. Usage: patterns <file>, a JSON object with `patterns` and `samples`.
// Prints whether each pattern matches each sample. Fails if Go cannot compile a pattern.
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
