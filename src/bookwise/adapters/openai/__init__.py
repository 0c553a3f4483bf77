"""The engines `direct` and `agent`: answers from a language model with OpenAI's API."""
