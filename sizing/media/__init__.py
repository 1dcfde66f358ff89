"""Images, videos and audio clips of a request: the tokens that stand for them, by model family."""
