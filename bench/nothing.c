/* The command that the start-up benchmark runs: it does nothing. */
int
main(void)
{
	return 0;
}
