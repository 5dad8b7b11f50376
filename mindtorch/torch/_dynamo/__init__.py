"""Names of torch._dynamo that packages import; torch.compile is what compiles."""
